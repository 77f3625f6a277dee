"""What every page of an issue needs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from admission.models import TrackedIssue
from admission.models.base import IssueRecord
from rlvram_site.access import is_staff
from rlvram_site.as_of import AsOfError, as_of_text, is_end_of_day, parse_as_of

PAGES = (
    ("admission-issue", "What holds"),
    ("admission-changes", "Changes and reviews"),
    ("admission-timeline", "Timeline"),
    ("admission-witnesses", "Witnesses"),
    ("admission-receipts", "Receipts"),
    ("admission-proposals", "Proposals"),
)


@dataclass(frozen=True)
class AsOf:
    """The moment a page is asked about; ``problem`` says why an answer is about now instead."""

    moment: dt.datetime | None = None
    given: str = ""
    problem: str = ""

    @property
    def words(self) -> str:
        """The moment in words: a day, or a time of it in UTC."""
        if self.moment is None:
            return ""
        day = f"{self.moment:%B} {self.moment.day}, {self.moment.year}"
        return day if is_end_of_day(self.moment) else f"{day}, {self.moment:%H:%M:%S} UTC"

    @property
    def is_day(self) -> bool:
        """Whether it was given as a day alone."""
        return self.moment is not None and is_end_of_day(self.moment)

    @property
    def query(self) -> str:
        """The ``as_of`` that means it, as an address has it; empty for now."""
        return as_of_text(self.moment)


def as_of(request: HttpRequest) -> AsOf:
    """The ``as_of`` of the address."""
    given = request.GET.get("as_of", "").strip()
    try:
        return AsOf(parse_as_of(given), given)
    except AsOfError as error:
        return AsOf(None, given, f"{error}. This is what holds now.")


def answer(request: HttpRequest, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """A page of an issue; one that was asked about a day that is none answers 400, and says so."""
    if context["moment"].problem:
        status = 400
    return render(request, template, context, status=status)


def page_context(issue: TrackedIssue, page: str, moment: AsOf) -> dict[str, Any]:
    """Context of every page of an issue: its links keep the day that was asked about."""
    query = f"?as_of={moment.query}" if moment.moment else ""
    links = [
        {"label": label, "address": reverse(name, args=issue.address) + query, "current": name == page}
        for name, label in PAGES
        if name != "admission-proposals" or issue.proposal_rows.all().exists()
    ]
    return {"issue": issue, "page_name": page, "links": links, "moment": moment, "as_of": moment.moment}


@dataclass(frozen=True)
class Preview:
    """What a form would record: the row, its short fields with their names, and what speaks against it."""

    row: IssueRecord
    facts: list[tuple[str, str]]
    doubts: list[str]


def short_facts(row: Any) -> list[tuple[str, str]]:
    """The short fields of any record, with their names."""
    left_out = {
        "id", "issue", "key", "origin", "recorded_at", "seen_at", "sort_at", "stated_words",
        "stated_precision",
        "stated_day", "stated_in", "sentence", "body", "raw", "text", "note", "text_sha256", "document",
        "results", "heading", "value",
    }  # fmt: skip
    facts = []
    for column in row._meta.concrete_fields:
        if column.name in left_out:
            continue
        value = getattr(row, column.name)
        if value in (None, "", []):
            continue
        if column.choices:
            value = getattr(row, f"get_{column.name}_display")()
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if isinstance(value, int) and column.name.endswith("_bytes"):
            value = f"{value:,} B"
        facts.append((str(column.verbose_name), str(value)))
    return facts


def staff_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only staff may record; others who are logged in are refused, and strangers asked to log in."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not is_staff(request.user):
            raise PermissionDenied("Only staff may record")
        return view(request, *args, **kwargs)

    return guarded
