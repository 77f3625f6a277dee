"""A CSV table as texts, each row with its line. Columns are checked by name; their order is free."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.directory.problems import Problems

MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Row:
    """One row: its cells by column, blank ones as empty texts, and the line where it starts."""

    line: int
    cells: Mapping[str, str]


def read_table(
    folder: Path,
    name: str,
    problems: Problems,
    *,
    required: Collection[str],
    optional: Collection[str],
    key: str,
) -> list[Row]:
    """The rows that can be read; what can't is noted.

    `key` is a column whose values are there and different in every row.
    """
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        problems.add(name, None, "file", error.strerror, "a CSV table")
        return []
    if len(content) > MAX_BYTES:
        problems.add(name, None, "size", len(content), f"at most {MAX_BYTES:,} bytes")
        return []
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problems.add(name, None, f"byte {error.start}", "no UTF-8", "UTF-8 text")
        return []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if not _good_header(header, name, problems, required, optional):
            return []
        return _rows(reader, header, name, problems, key)
    except csv.Error as error:
        problems.add(name, reader.line_num, "text", str(error), "a CSV table")
        return []


def _good_header(
    header: list[str], name: str, problems: Problems, required: Collection[str], optional: Collection[str]
) -> bool:
    good = True
    for column in required:
        if column not in header:
            problems.add(name, 1, column, None, "the column")
            good = False
    for column in header:
        if column not in required and column not in optional:
            problems.add(name, 1, "column", column, "one of " + ", ".join([*required, *optional]))
            good = False
        if header.count(column) > 1:
            problems.add(name, 1, "column", column, "each column once")
            good = False
    return good


def _rows(reader: Any, header: list[str], name: str, problems: Problems, key: str) -> list[Row]:
    rows: list[Row] = []
    seen: dict[str, int] = {}
    line = reader.line_num + 1
    for cells in reader:
        start, line = line, reader.line_num + 1
        if not any(cells):
            continue
        if len(cells) != len(header):
            problems.add(name, start, "cells", len(cells), f"{len(header)}, as many as the header has")
            continue
        row = Row(start, dict(zip(header, cells, strict=True)))
        value = row.cells[key]
        if not value.strip():
            problems.add(name, start, key, value, "a text that is not blank")
            continue
        if value in seen:
            problems.add(name, start, key, value, f"each once; line {seen[value]} has it already")
            continue
        seen[value] = start
        rows.append(row)
    if not rows and not problems:
        problems.add(name, None, "rows", 0, "at least one row below the header")
    return rows
