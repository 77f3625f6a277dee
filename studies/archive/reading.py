"""A whole archive on disk, read into the records of its pool and its studies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError
from studies.archive.hashes import CheckedFile
from studies.archive.history import in_time_order, preflight_total, read_events
from studies.archive.inputs import check_computable
from studies.archive.layout import LAYOUTS, METADATA, Documents, Layout, check_hashes, read_documents
from studies.archive.plans import Plan, plan_records, read_plan, refuse_pool_targets
from studies.archive.pools import read_pool
from studies.archive.predictions import prediction_records
from studies.archive.records import Record, Stream
from studies.archive.results import read_outcomes


@dataclass(frozen=True)
class ReadStudy:
    """A study's records and what became of the hashes that its documents name."""

    stream: Stream
    files: list[CheckedFile]


@dataclass(frozen=True)
class ReadArchive:
    """Everything that was asked for, hashes checked; parents come before follow-ups."""

    pool: Stream
    studies: list[ReadStudy]


def studies_in(root: Root) -> list[Layout]:
    """The studies that lie in an archive."""
    return [layout for layout in LAYOUTS.values() if root.has(layout.path("protocol.json"))]


def read_archive(folder: Path, wanted: Iterable[str] = ()) -> ReadArchive:
    """Read the pool and the wanted studies (all that are there if none is named).

    Raises ``ArchiveError`` with file, place and what was expected; nothing is written anywhere.
    """
    root = Root(folder)
    if not (folder / "benchmark").is_dir():
        raise ArchiveError(f"{folder}: no folder 'benchmark' in it, expected the root of a study archive")
    present = {layout.slug: layout for layout in studies_in(root)}
    slugs = list(wanted) or list(present)
    for slug in slugs:
        if slug not in present:
            raise ArchiveError(
                f"{folder}: study {slug!r} is not in it, expected one of {', '.join(present) or 'none'}"
            )
    if not slugs:
        expected = " or ".join(layout.path("protocol.json") for layout in LAYOUTS.values())
        raise ArchiveError(f"{folder}: no study in it, expected {expected}")
    # Bytes first: nothing of a document is used before the hashes named for it hold.
    documents = {slug: read_documents(root, present[slug]) for slug in slugs}
    files = {slug: check_hashes(root, documents[slug]) for slug in slugs}
    pool = read_pool(root, Document(METADATA, root.document(METADATA)))
    ids = {record.fields["configuration_id"] for record in pool.records if record.kind == "configuration"}
    return ReadArchive(pool, [_read_study(root, documents[slug], files[slug], ids) for slug in slugs])


def _read_study(root: Root, documents: Documents, files: list[CheckedFile], pool_ids: set[str]) -> ReadStudy:
    plan = read_plan(root, documents)
    refuse_pool_targets(plan, pool_ids)
    if plan.rules.fitting is not None:
        check_computable(root, documents.layout, plan)
    records = plan_records(root, documents, plan)
    records += prediction_records(root, documents, plan, pool_ids)
    if documents.history is not None:
        records += _outcome_records(root, documents, documents.history, plan)
    records += [_source_file(item) for item in files]
    return ReadStudy(Stream(documents.layout.slug, records), files)


def _outcome_records(root: Root, documents: Documents, history: Document, plan: Plan) -> list[Record]:
    layout = documents.layout
    events = read_events(history)
    if not root.has(layout.path("results/processes.csv")):
        return [event.record for event in events]
    commits: dict[str, Any] = root.document(layout.path("execution_commits.json"))
    outcomes = read_outcomes(root, layout, plan.slots, commits, plan.rules.memory_margin_limit_mib)
    records = in_time_order(events, outcomes.slots, outcomes.allocations) + outcomes.totals
    preflight = preflight_total(history)
    if preflight is not None:
        records.append(Record("cost_total", preflight | {"source_sha256": root.sha256(history.path)}))
    return records


def _source_file(item: CheckedFile) -> Record:
    return Record(
        "source_file",
        {
            "declared_in": item.declaration.document,
            "path": item.declaration.path,
            "sha256": item.declaration.sha256,
            "state": item.state,
            "size_bytes": item.size_bytes,
        },
    )
