"""The transfer suite's queries, read into records of the pool."""

from __future__ import annotations

from collections.abc import Mapping

from studies.archive import columns
from studies.archive.documents import Root
from studies.archive.errors import ArchiveError
from studies.archive.layout import QUERIES, QUERIES_SHA256
from studies.archive.records import Record
from studies.archive.tables import Row, read_table
from studies.transfer.suite import Track


def read_queries(root: Root, cases: Mapping[str, str]) -> list[Record]:
    """Tasks, then queries; nothing if the archive has no suite. ``cases`` has each configuration's case.

    Raises ``ArchiveError`` for another file than the published one, and for a row that contradicts the pool.
    What tasks and queries owe each other is checked when the pool is recorded.
    """
    if not root.has(QUERIES):
        return []
    content = root.read(QUERIES)
    if root.sha256(QUERIES) != QUERIES_SHA256:
        raise ArchiveError(
            f"{QUERIES}: sha256 is {root.sha256(QUERIES)}, expected {QUERIES_SHA256} as published for the "
            "transfer suite"
        )
    rows = read_table(content, QUERIES, columns.QUERIES, key="query_id")
    tasks: dict[str, Record] = {}
    for row in rows:
        _check_cases(row, cases)
        tasks.setdefault(row.text("task_id"), _task(row))
    return [*(tasks[name] for name in sorted(tasks)), *(_query(row) for row in rows)]


def _check_cases(row: Row, cases: Mapping[str, str]) -> None:
    for role in ("source", "target"):
        name = row.text(f"{role}_configuration_id")
        if name not in cases:
            raise row.fail(f"{role}_configuration_id", name, "a configuration of the pool")
        if row.text(f"{role}_case_id") != cases[name]:
            raise row.fail(
                f"{role}_case_id", row.cells[f"{role}_case_id"], f"{cases[name]}, the case of {name}"
            )


def _task(row: Row) -> Record:
    return Record(
        "transfer_task",
        {
            "task_id": row.text("task_id"),
            "track": row.one_of("track", Track),
            "source_case_id": row.text("source_case_id"),
        },
    )


def _query(row: Row) -> Record:
    return Record(
        "transfer_query",
        {
            "task": row.text("task_id"),
            "query_id": row.text("query_id"),
            "source": row.text("source_configuration_id"),
            "target": row.text("target_configuration_id"),
        },
    )
