"""Predictions from outside: read them from CSV or JSON, and name every rule that they break."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlvram_site.strict_json import JsonError, read_json
from studies.estimation.labels import Label
from studies.transfer.suite import Suite

COLUMNS = ("query_id", "predicted_state")
SHOWN_OFFENDERS = 5
MAX_BYTES = 1 << 20
"""A full submission has about 16 KB."""
LONGEST_SHOWN = 80


@dataclass(frozen=True)
class SubmissionProblem:
    """One broken rule.

    Attributes:
        rule: ``unreadable``, ``missing``, ``duplicate``, ``unexpected``, ``invalid_state``, ``wrong_track``.
        count: how often it is broken.
        offenders: the first few, as they were sent.
        expected: what the rule asks for.
    """

    rule: str
    count: int
    offenders: tuple[str, ...]
    expected: str

    def __str__(self) -> str:
        more = self.count - len(self.offenders)
        shown = ", ".join(self.offenders) + (f" and {more} more" if more > 0 and self.offenders else "")
        found = f"{self.count} ({shown})" if shown else str(self.count)
        return f"{self.rule.replace('_', ' ')}: {found}; expected {self.expected}"


class SubmissionError(ValueError):
    """Predictions that cannot be scored; ``problems`` has every broken rule."""

    def __init__(self, problems: Sequence[SubmissionProblem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class SubmittedRow:
    """One row as it was sent."""

    query_id: str
    predicted_state: str


def parse_rows(content: bytes) -> list[SubmittedRow]:
    """Rows of a CSV table with the columns ``query_id`` and ``predicted_state``, or of a JSON list of objects
    with these two keys (also under the key ``predictions`` of one object).

    A byte order mark and either line ending are understood.

    Raises:
        SubmissionError: the content is neither, or one row has another shape.
    """
    if len(content) > MAX_BYTES:
        raise _unreadable(f"{len(content):,} bytes", f"at most {MAX_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(f"byte {error.start}", "UTF-8 text") from None
    if not text.strip():
        raise _unreadable("nothing was sent", f"a CSV table or a JSON list with {' and '.join(COLUMNS)}")
    if text.lstrip()[0] in "[{":
        return _json_rows(text)
    return _csv_rows(text)


def rows_of(items: Any) -> list[SubmittedRow]:
    """Rows of an already parsed JSON list.

    Raises:
        SubmissionError: no list, or an item of another shape.
    """
    if not isinstance(items, list):
        raise _unreadable(_short(items), "a list of objects with query_id and predicted_state")
    wrong = [f"item {number}" for number, item in enumerate(items) if not _is_row(item)]
    if wrong:
        raise _shape(wrong, "an object with the texts query_id and predicted_state, nothing else")
    return [SubmittedRow(item["query_id"], item["predicted_state"]) for item in items]


def check(suite: Suite, rows: Sequence[SubmittedRow], selection: str) -> dict[str, Label]:
    """Labels by query id, exactly one for each query of the selected track (or of all).

    Raises:
        SubmissionError: every broken rule, with counts and the first offenders.
        EstimationError: a track that does not exist.
    """
    wanted = {query.query_id for query in suite.queries_of(selection)}
    counts = Counter(row.query_id for row in rows)
    labels = [label.value for label in Label]
    wrong_states = [
        f"{row.query_id} {row.predicted_state!r}" for row in rows if row.predicted_state not in labels
    ]
    unknown = [name for name in counts if name not in suite.by_id]
    elsewhere = [name for name in counts if name in suite.by_id and name not in wanted]
    repeated = [name for name, number in counts.items() if number > 1]
    missing = sorted(wanted - set(counts))
    problems = [
        _problem("missing", missing, f"one row for each of the {len(wanted)} queries"),
        _problem("duplicate", repeated, "each query once"),
        _problem("wrong_track", elsewhere, f"queries of {selection} only"),
        _problem("unexpected", unknown, "ids of this suite's queries only"),
        _problem("invalid_state", wrong_states, "one of " + ", ".join(labels)),
    ]
    found = [problem for problem in problems if problem.count]
    if found:
        raise SubmissionError(found)
    return {row.query_id: Label(row.predicted_state) for row in sorted(rows, key=lambda row: row.query_id)}


def _is_row(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and set(item) == set(COLUMNS)
        and all(isinstance(value, str) for value in item.values())
    )


def _csv_rows(text: str) -> list[SubmittedRow]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[SubmittedRow] = []
    wrong: list[str] = []
    try:
        header = next(reader)
        if sorted(header) != sorted(COLUMNS):
            raise _unreadable(f"columns {_short(','.join(header))}", f"the columns {','.join(COLUMNS)} only")
        query, state = header.index(COLUMNS[0]), header.index(COLUMNS[1])
        for cells in reader:
            if not cells:
                continue  # an empty line says nothing
            if len(cells) != len(COLUMNS):
                wrong.append(f"line {reader.line_num}")
            else:
                rows.append(SubmittedRow(cells[query], cells[state]))
    except csv.Error as error:
        raise _unreadable(f"line {reader.line_num}: {error}", "comma-separated values") from None
    if wrong:
        raise _shape(wrong, "two cells in each row")
    return rows


def _json_rows(text: str) -> list[SubmittedRow]:
    try:
        document = read_json(text)
    except JsonError as error:
        raise _unreadable(f"no JSON: {error}", "a JSON list of objects") from None
    if isinstance(document, dict):
        if set(document) != {"predictions"}:
            raise _unreadable(
                f"keys {_short(', '.join(document))}", "a list, or an object with predictions only"
            )
        document = document["predictions"]
    return rows_of(document)


def _problem(rule: str, offenders: Sequence[str], expected: str) -> SubmissionProblem:
    return SubmissionProblem(rule, len(offenders), tuple(map(_short, offenders[:SHOWN_OFFENDERS])), expected)


def _shape(offenders: Sequence[str], expected: str) -> SubmissionError:
    return SubmissionError([_problem("unreadable", offenders, expected)])


def _unreadable(found: str, expected: str) -> SubmissionError:
    return SubmissionError([SubmissionProblem("unreadable", 1, (found,), expected)])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate could not be sent back
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
