"""Strict reading of CSV tables: every column known, every row whole, every error with its place."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from studies.archive.errors import ArchiveError
from studies.estimation.errors import EstimationError
from studies.estimation.fields import boolean_in, number_in, text_in, whole_in


@dataclass(frozen=True)
class Row:
    """One row of a table with the place it came from. ``line`` is where the row ends in the file."""

    path: str
    line: int
    cells: dict[str, str]

    def fail(self, column: str, value: object, expected: str) -> ArchiveError:
        """The error for one cell; the caller raises it."""
        return ArchiveError(f"{self.path} line {self.line} column {column}: {value!r}, expected {expected}")

    def _read(self, reader: Callable, column: str):
        try:
            return reader(self.cells, column, self.path)
        except EstimationError as error:
            raise self.fail(column, error.value, error.expected) from None

    def text(self, column: str) -> str:
        """A text that is not blank and stays in one line."""
        value = self._read(text_in, column)
        if len(value.splitlines()) != 1:
            raise self.fail(column, value, "a text in one line")
        return value

    def text_or_blank(self, column: str) -> str:
        """Whatever text stands there."""
        return self.cells.get(column, "")

    def whole(self, column: str) -> int:
        """A whole number."""
        return self._read(whole_in, column)

    def number(self, column: str) -> float:
        """A finite number."""
        return self._read(number_in, column)

    def boolean(self, column: str) -> bool:
        """``True`` or ``False``; blank is an error."""
        return self._read(boolean_in, column)

    def whole_or_none(self, column: str) -> int | None:
        """A whole number; blank means that the source states none."""
        return None if self.cells[column] == "" else self.whole(column)

    def number_or_none(self, column: str) -> float | None:
        """A finite number; blank means that the source states none, and never zero."""
        return None if self.cells[column] == "" else self.number(column)

    def boolean_or_none(self, column: str) -> bool | None:
        """A boolean; blank means that the source states none, and never False."""
        return None if self.cells[column] == "" else self.boolean(column)

    def one_of(self, column: str, allowed: Iterable[str]) -> str:
        """One of the allowed words."""
        words = tuple(allowed)
        if self.cells[column] not in words:
            raise self.fail(column, self.cells[column], "one of " + ", ".join(words))
        return self.cells[column]


def read_table(
    content: bytes, path: str, columns: Sequence[str], *, key: str, optional: Sequence[str] = ()
) -> list[Row]:
    """The rows of a CSV table in their order.

    A byte order mark, either line ending and line breaks inside quotes are understood.
    Raises ``ArchiveError`` for text that is not UTF-8, for a missing, doubled or unknown column, for a row
    with another number of cells, and for a ``key`` that is blank or stands twice.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArchiveError(f"{path}: byte {error.start} is not UTF-8, expected UTF-8 text") from None
    if "\0" in text:
        raise ArchiveError(f"{path}: a NUL character at place {text.index(chr(0))}, expected text")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    try:
        header = next(reader, None)
        if header is None:
            raise ArchiveError(
                f"{path} line 1: the file is empty, expected a header with {', '.join(columns)}"
            )
        _check_header(header, path, columns, optional)
        for cells in reader:
            if len(cells) != len(header):
                raise ArchiveError(
                    f"{path} line {reader.line_num}: {len(cells)} cells, expected the header's {len(header)}"
                )
            rows.append(Row(path, reader.line_num, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        raise ArchiveError(
            f"{path} line {reader.line_num}: {error}, expected comma-separated values"
        ) from None
    _check_keys(rows, key)
    return rows


def _check_header(header: Sequence[str], path: str, columns: Sequence[str], optional: Sequence[str]) -> None:
    for name in header:
        if header.count(name) > 1:
            raise ArchiveError(
                f"{path} line 1 column {name}: stands {header.count(name)} times, expected once"
            )
        if name not in columns and name not in optional:
            raise ArchiveError(
                f"{path} line 1 column {name}: unknown, expected {', '.join((*columns, *optional))}"
            )
    for name in columns:
        if name not in header:
            raise ArchiveError(f"{path} line 1 column {name}: missing")


def _check_keys(rows: Sequence[Row], key: str) -> None:
    lines: dict[str, int] = {}
    for row in rows:
        value = row.text(key)
        if value in lines:
            raise row.fail(key, value, f"each {key} once; it already stands in line {lines[value]}")
        lines[value] = row.line
