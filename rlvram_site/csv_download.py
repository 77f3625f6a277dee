"""Tables as CSV files that a spreadsheet shows and never executes."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.http import StreamingHttpResponse

# A spreadsheet takes a text that starts with one of these for a formula; full-width forms count as well.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Echo:
    """A file whose ``write`` hands the line back, so that rows can be streamed."""

    def write(self, value: str) -> str:
        return value


def safe_cell(value: Any) -> str:
    """``value`` as a cell: numbers and times as they are, blank for none, and texts that a spreadsheet would
    run as a formula behind an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat()
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Lines of the file, header first, ended by CRLF as RFC 4180 has it."""
    writer = csv.writer(_Echo())
    yield writer.writerow([safe_cell(name) for name in header])
    for row in rows:
        yield writer.writerow([safe_cell(value) for value in row])


def csv_response(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """The table as a download called ``name``.csv, sent while it is read."""
    return StreamingHttpResponse(
        csv_lines(header, rows),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )
