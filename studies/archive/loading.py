"""Records into the database, all or nothing, and what differs from what is already there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from rlvram_site.exchange import stretches
from rlvram_site.ledger.canonical import canonical
from rlvram_site.ledger.chain import record_all
from rlvram_site.ledger.models import LedgerRecord
from studies.archive.errors import ArchiveError
from studies.archive.facts import facts_record
from studies.archive.records import (
    KINDS,
    POOL_KINDS,
    SUITE_KINDS,
    Names,
    Record,
    Stream,
    build_row,
    dump_stream,
    entries_of,
    names_of,
)
from studies.estimation.families import PUBLISHED
from studies.evidence.completion import check_pattern
from studies.evidence.errors import EvidenceError
from studies.models import Attempt, ModelArchitecture, Pool, Protocol, Study

_IDENTITY: Mapping[str, tuple[str, ...]] = {
    "pool": (),
    "study": (),
    "protocol": (),
    "architecture": ("model_id",),
    "outcome": ("configuration",),
    "configuration": ("configuration_id",),
    "slot": ("experiment_id",),
    "amendment": ("number",),
    "fitted_model": ("fold",),
    "prediction_set": ("kind", "fold"),
    "prediction": ("prediction_set", "configuration", "method"),
    "seal": ("prediction_set",),
    "attempt": ("invocation_id",),
    "exclusion": ("attempt",),
    "non_launch": ("slot",),
    "event": ("position",),
    "allocation": ("pair_id",),
    "cost_total": ("scope",),
    "source_file": ("declared_in", "path"),
    "evaluation": ("prediction_set", "inputs_sha256"),
    "transfer_task": ("task_id",),
    "transfer_query": ("query_id",),
}
# Our own sentences may be reworded by a later version; whether a file lay in an archive is not its content.
_NOT_COMPARED: Mapping[str, tuple[str, ...]] = {
    "pool": ("title",),
    "study": ("title", "question"),
    "event": ("title", "detail"),
    "attempt": ("reason",),
    "non_launch": ("reason",),
    "source_file": ("state", "size_bytes"),
}
Progress = Callable[[int], object]


def owner_of(stream: Stream) -> Pool | Study | None:
    """The pool or study of this slug, if it is already recorded."""
    model = Pool if stream.is_pool else Study
    return model.objects.filter(slug=stream.slug).first()


def differences(stream: Stream, owner: Pool | Study) -> Iterator[str]:
    """What ``stream`` states otherwise than the ledger does. Rows recorded since are no difference.

    Only kinds of records that ``stream`` has are read from the ledger.
    """
    known = _by_identity(dump_stream(owner, {record.kind for record in stream.records}).records)
    for identity, record in _by_identity(stream.records).items():
        kind, key = identity[0], " ".join(str(part) for part in identity[1:-1])
        name = f"{kind} {key}".strip()
        if kind == "evaluation":
            continue
        if identity not in known:
            yield f"{name} is not recorded"
            continue
        there = facts_record(kind, known[identity].fields)
        for field, value in facts_record(kind, record.fields).items():
            if field not in _NOT_COMPARED.get(kind, ()) and canonical(value) != there.get(field):
                yield f"{name} {field}: {_short(value)}, recorded {_short(there.get(field))}"


def _by_identity(records: Sequence[Record]) -> dict[tuple, Record]:
    found: dict[tuple, Record] = {}
    counts: dict[tuple, int] = {}
    for record in records:
        base = (record.kind, *(record.fields.get(name) for name in _IDENTITY[record.kind]))
        counts[base] = counts.get(base, 0) + 1
        found[*base, counts[base]] = record
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def load_stream(stream: Stream, progress: Progress = lambda count: None) -> Pool | Study:
    """Record every row of a stream whose owner is not there yet, in order, and return the owner.

    Raises ``ArchiveError`` for a record that cannot be taken; nothing of the stream stays then.
    """
    place = f"{'pool' if stream.is_pool else 'study'} {stream.slug}"
    with transaction.atomic():
        owner = build_row(stream.records[0], None, {}, place)
        record_all([owner])
        progress(1)
        _load(stream.records[1:], owner, stream, _scopes(owner), progress)
    assert isinstance(owner, Pool | Study)
    return owner


def load_suite_into(pool: Pool, stream: Stream) -> None:
    """Record the transfer suite of a pool that was recorded before it had one.

    Raises ``ArchiveError`` for a record that cannot be taken; nothing of the suite stays then.
    """
    records = [record for record in stream.records if record.kind in SUITE_KINDS]
    with transaction.atomic():
        _load(records, pool, stream, {"": names_of(entries_of(pool.stream))}, lambda count: None)


def _load(
    records: Sequence[Record],
    owner: LedgerRecord,
    stream: Stream,
    scopes: dict[str, Names],
    progress: Progress,
) -> None:
    place = f"{'pool' if stream.is_pool else 'study'} {stream.slug}"
    for run in _runs(records):
        rows = [
            build_row(record, owner, scopes, f"{place}: {record.kind} {number}")
            for number, record in enumerate(run, start=1)
            if _belongs(record, stream, place)
        ]
        for number, row in enumerate(rows, start=1):
            _check_supersession(row, f"{place}: {run[0].kind} {number}")
            _check_family(row, f"{place}: {run[0].kind} {number}")
            _check_pattern(row, f"{place}: {run[0].kind} {number}")
        try:
            record_all(rows)
        except IntegrityError as error:
            raise ArchiveError(
                f"{place}: {run[0].kind}: two records contradict each other ({error})"
            ) from None
        for row in rows:
            scopes[""].add(row)
        progress(len(rows))


def _check_supersession(row: LedgerRecord, place: str) -> None:
    if isinstance(row, Attempt) and (row.supersedes_id is not None or row.supersedes_reason is not None):
        for field, problem in row.supersession_problems().items():
            raise ArchiveError(f"{place} {field}: {problem}")


def _check_family(row: LedgerRecord, place: str) -> None:
    if (
        isinstance(row, ModelArchitecture)
        and row.model_id not in PUBLISHED
        and not (row.family or "").strip()
    ):
        raise ArchiveError(
            f"{place} family: {row.family!r}, expected the architecture family of {row.model_id}"
        )


def _check_pattern(row: LedgerRecord, place: str) -> None:
    if isinstance(row, Protocol) and isinstance(row.document, dict):
        try:
            check_pattern(row.document, f"{place} document")
        except EvidenceError as error:
            raise ArchiveError(str(error)) from None


def _scopes(owner) -> dict[str, Names]:
    scopes = {"": Names()}
    if isinstance(owner, Study):
        if owner.pool is not None:
            scopes["pool:"] = names_of(entries_of(owner.pool.stream))
        if owner.parent is not None:
            scopes["parent:"] = names_of(entries_of(owner.parent.stream))
    return scopes


def _belongs(record: Record, stream: Stream, place: str) -> bool:
    allowed = [kind for kind in KINDS if kind == "configuration" or kind not in ("study", *POOL_KINDS)]
    if stream.is_pool:
        allowed = [kind for kind in POOL_KINDS if kind != "pool"]
    if record.kind not in allowed:
        raise ArchiveError(f"{place}: record {record.kind!r}, expected one of {', '.join(allowed)}")
    return True


def _runs(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Stretches that can be recorded at once. What a record supersedes must stand before it is built."""
    return stretches(
        records,
        lambda before, record: before.kind != record.kind or record.fields.get("supersedes") is not None,
    )
