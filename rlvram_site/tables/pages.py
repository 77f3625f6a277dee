"""Tables in the pages that are sent: cards on a phone, arranged as the address asks, and sent as files.

A table that stands in ``<div class="scroll">`` gets all of this; no template or view does anything for it.
A view whose list is paged takes its pages from ``paging.page_of``, so that all rows are there to be arranged.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.text import slugify

from rlvram_site.csv_download import csv_response
from rlvram_site.tables.arrangement import arrange, asked
from rlvram_site.tables.latex import latex
from rlvram_site.tables.markup import Table, plain, read
from rlvram_site.tables.tools import tools

_TABLE = re.compile(r'<div class="scroll"([^>]*)>\s*<table\b([^>]*)>(.*?)</table>\s*</div>', re.DOTALL)
_HEADING = re.compile(r"<(h[1-4]|summary)\b[^>]*>(.*?)</\1>", re.DOTALL)
_ASIDE = re.compile(r"<small\b.*?</small>", re.DOTALL)
FORMATS = ("csv", "tex")
BARE = "data-bare"
"""Attribute of a table's box that asks for no tools: of many small tables on a page."""


@dataclass(frozen=True)
class NamedTable:
    """A table under the name that its page's address uses for it; ``title`` is its caption or its heading."""

    name: str
    title: str
    table: Table


class TablesOfPages:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not isinstance(response, HttpResponse) or not _is_page(response):
            return response
        page = response.content.decode()
        wanted = next((key for key in request.GET if key.endswith(".as")), "")
        if wanted:
            return table_file(request, page, wanted.removesuffix(".as"), request.GET[wanted])
        if '<div class="scroll"' in page:
            response.content = with_tables(page, request)
            if "Content-Length" in response.headers:
                response.headers["Content-Length"] = str(len(response.content))
        return response


def _is_page(response: HttpResponse) -> bool:
    return response.headers.get("Content-Type", "").startswith("text/html") and response.status_code in (
        200,
        400,
    )


def with_tables(page: str, request: HttpRequest) -> str:
    """``page`` with its tables arranged, their cells labelled, and what can be done with each behind it."""
    names = _Names(page)

    def written(found: re.Match[str]) -> str:
        table = _read(found)
        if table is None:
            return found[0]
        named = names.name(found, table)
        total = len(table.body)
        wanted = asked(named.name, request.GET, request.GET.getlist(f"{named.name}.hide"))
        columns = table.names
        can_arrange = table.is_regular
        arrange(table, wanted)
        _say_what_it_is(table)
        shown = f'<div class="scroll"{found[1]}>{table.markup()}</div>'
        if BARE in found[1]:
            return shown
        offered = columns if can_arrange else []
        return shown + tools(request, named.name, offered, wanted, total, len(table.body))

    return _TABLE.sub(written, page)


def tables_of(page: str) -> list[NamedTable]:
    """Every table of a page, as its template wrote it."""
    names = _Names(page)
    found = ((match, _read(match)) for match in _TABLE.finditer(page))
    return [names.name(match, table) for match, table in found if table is not None]


def table_file(request: HttpRequest, page: str, name: str, kind: str) -> HttpResponseBase:
    """The table called ``name``, arranged as the address asks, as a file to keep."""
    tables = {item.name: item for item in tables_of(page)}
    if name not in tables or kind not in FORMATS:
        known = ", ".join(tables) or "none"
        text = f"Expected a table of this page ({known}) as one of {', '.join(FORMATS)}.\n"
        return HttpResponse(text, status=404, content_type="text/plain; charset=utf-8")
    item = tables[name]
    arrange(item.table, asked(name, request.GET, request.GET.getlist(f"{name}.hide")))
    stem = "-".join(part for part in (slugify(request.path.strip("/").replace("/", "-"))[-60:], name) if part)
    if kind == "csv":
        return csv_response(stem, item.table.names, rows_of(item.table))
    return HttpResponse(
        as_latex(item),
        content_type="application/x-tex; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{stem}.tex"'},
    )


def rows_of(table: Table) -> list[list[str]]:
    """The texts of body and foot, each row as wide as the head; a cell of several columns leaves blanks."""
    lines = []
    held: dict[int, tuple[int, str]] = {}
    for row in (*table.body, *table.foot):
        line: list[str] = []
        for cell in row.cells:
            while held.get(len(line), (0, ""))[0]:
                left, text = held[len(line)]
                held[len(line)] = (left - 1, text)
                line.append(text)
            held.update({len(line) + step: (cell.rows - 1, cell.text) for step in range(cell.columns)})
            line += [cell.text, *[""] * (cell.columns - 1)]
        lines.append(line + [""] * (len(table.names) - len(line)))
    return lines


def as_latex(item: NamedTable) -> str:
    rows, names = rows_of(item.table), item.table.names
    first = next((row.cells for row in item.table.body if len(row.cells) == len(names)), [])
    numbers = [cell.is_number for cell in first] or [False] * len(names)
    return latex(item.title, item.name, names, rows, numbers)


def _read(found: re.Match[str]) -> Table | None:
    table = read(found[2], found[3])
    if table is None:
        return None
    cells = sum(len(row.cells) for row in (*table.head, *table.body, *table.foot))
    return table if cells == len(re.findall(r"<t[hd]\b", found[3])) else None


def _say_what_it_is(table: Table) -> None:
    """Cards are drawn from blocks, which would no longer be read out as a table: the roles say it again."""
    if "role=" in table.attributes:
        return
    table.attributes += ' role="table"'
    table.body_attributes += ' role="rowgroup"'
    for row in (*table.head, *table.body, *table.foot):
        row.attributes += ' role="row"'
    for row in table.head:
        for cell in row.cells:
            cell.attributes += ' role="columnheader"'
    for row in (*table.body, *table.foot):
        for cell in row.cells:
            cell.attributes += ' role="rowheader"' if cell.tag == "th" else ' role="cell"'


class _Names:
    """Names of a page's tables: their nearest heading, and a number where one has several."""

    def __init__(self, page: str) -> None:
        self._page = page
        self._headings = [(found.end(), plain(_ASIDE.sub("", found[2]))) for found in _HEADING.finditer(page)]
        self._taken: dict[str, int] = {}

    def name(self, found: re.Match[str], table: Table) -> NamedTable:
        before = [text for place, text in self._headings if place <= found.start()]
        heading = before[-1] if before else ""
        base = slugify(heading)[:40].strip("-") or "table"
        count = self._taken[base] = self._taken.get(base, 0) + 1
        caption = plain(table.caption) if table.caption else ""
        return NamedTable(base if count == 1 else f"{base}-{count}", caption or html.unescape(heading), table)
