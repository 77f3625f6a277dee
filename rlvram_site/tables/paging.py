"""A page of a list; all of the list where the address arranges a table or asks for a file of one."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest

from rlvram_site.tables.arrangement import is_asked

ARRANGED = 2_000
"""Rows that are arranged at once. A longer list is arranged up to here, and its tools say so."""


def rows_per_page(request: HttpRequest, usual: int) -> int:
    """How many rows a page of a table has."""
    return max(usual, ARRANGED) if is_asked(request.GET) else usual


def page_of(request: HttpRequest, rows: Any, usual: int, name: str = "page") -> Page:
    """The page whose number the address gives as ``name``; the nearest one there is for any other value."""
    page = Paginator(rows, rows_per_page(request, usual)).get_page(request.GET.get(name))
    note_length(request, page)
    return page


def note_length(request: HttpRequest, page: Page) -> None:
    """Remember for the table's tools that there are more rows than this page holds."""
    if page.has_other_pages():
        request.longest_list = max(page.paginator.count, getattr(request, "longest_list", 0))  # type: ignore[attr-defined]
