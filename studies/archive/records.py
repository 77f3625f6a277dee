"""One spelling of every recorded row, shared by archives, bundles and the ledger.

A ``Record`` is a row's kind and its fields as plain JSON. A row of the same stream is referred to by its
key (a configuration by its id, an attempt by its invocation id …), a row of the study's pool as
``pool:KEY``, one of the parent study as ``parent:KEY``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models

from rlvram_site.exchange import type_problem
from rlvram_site.ledger.canonical import canonical
from rlvram_site.ledger.models import LedgerEntry, LedgerRecord
from studies.archive.errors import ArchiveError
from studies.models import (
    Allocation,
    Amendment,
    Attempt,
    Configuration,
    CostTotal,
    Evaluation,
    Event,
    Exclusion,
    FittedModel,
    ModelArchitecture,
    NonLaunch,
    Pool,
    PoolOutcome,
    Prediction,
    PredictionSet,
    Protocol,
    Seal,
    SeedSlot,
    SourceFile,
    Study,
    TransferQuery,
    TransferTask,
)

KINDS: dict[str, type[LedgerRecord]] = {
    "pool": Pool,
    "architecture": ModelArchitecture,
    "outcome": PoolOutcome,
    "study": Study,
    "configuration": Configuration,
    "slot": SeedSlot,
    "protocol": Protocol,
    "amendment": Amendment,
    "fitted_model": FittedModel,
    "prediction_set": PredictionSet,
    "prediction": Prediction,
    "seal": Seal,
    "attempt": Attempt,
    "exclusion": Exclusion,
    "non_launch": NonLaunch,
    "event": Event,
    "allocation": Allocation,
    "cost_total": CostTotal,
    "source_file": SourceFile,
    "evaluation": Evaluation,
    "transfer_task": TransferTask,
    "transfer_query": TransferQuery,
}
KIND_OF = {model: kind for kind, model in KINDS.items()}
SUITE_KINDS = ("transfer_task", "transfer_query")
POOL_KINDS = ("pool", "architecture", "configuration", "outcome", *SUITE_KINDS)

# Only what other rows refer to needs a key; a repeated one gets "#2", "#3" … in ledger order.
_KEYS: dict[type[LedgerRecord], Callable[[Any], str]] = {
    Configuration: lambda row: row.configuration_id,
    SeedSlot: lambda row: row.experiment_id,
    Attempt: lambda row: row.invocation_id,
    Exclusion: lambda row: f"exclusion-{row.attempt.invocation_id}",
    Protocol: lambda row: "protocol",
    FittedModel: lambda row: row.fold or "final",
    PredictionSet: lambda row: row.name,
    TransferTask: lambda row: row.task_id,
}
# Where these are null a record leaves them out, so that what was written before they existed stays the same.
_ADDED_LATER: dict[type[LedgerRecord], tuple[str, ...]] = {
    Attempt: ("supersedes", "supersedes_reason"),
    ModelArchitecture: ("family",),
    Prediction: ("lower_peak_mib", "upper_peak_mib", "remark"),
    Seal: ("bound",),
}
# A stream's first row says what these would say again.
_OWNERS = ("pool", "study")


@dataclass(frozen=True)
class Record:
    """One row: ``kind`` is a key of ``KINDS``, ``fields`` its values in plain JSON types."""

    kind: str
    fields: dict[str, Any]


@dataclass
class Stream:
    """The records of one pool or study in their ledger order. The first is the pool or study itself."""

    slug: str
    records: list[Record]

    @property
    def is_pool(self) -> bool:
        return self.records[0].kind == "pool"

    @property
    def head(self) -> dict[str, Any]:
        """The fields of the pool or study itself."""
        return self.records[0].fields


@dataclass
class Names:
    """Keys of one stream's rows, both ways."""

    rows: dict[tuple[type[LedgerRecord], str], LedgerRecord] = field(default_factory=dict)
    keys: dict[tuple[type[LedgerRecord], int], str] = field(default_factory=dict)
    _counts: dict[tuple[type[LedgerRecord], str], int] = field(default_factory=dict)

    def add(self, row: LedgerRecord) -> None:
        """Give ``row``, already recorded, its key."""
        model = type(row)
        if model not in _KEYS:
            return
        base = _KEYS[model](row)
        count = self._counts[model, base] = self._counts.get((model, base), 0) + 1
        key = base if count == 1 else f"{base}#{count}"
        self.rows[model, key] = row
        self.keys[model, row.pk] = key


def stored_fields(model: type[LedgerRecord]) -> list[models.Field]:
    """The fields of a kind that a record spells out."""
    skipped = {"id", "recorded_at"} | (set() if model is Study else set(_OWNERS))
    return [item for item in model._meta.concrete_fields if item.name not in skipped]


def entries_of(stream: str, kinds: Iterable[str] | None = None) -> list[LedgerRecord]:
    """All rows of a ledger stream, or those of some kinds, in its order, in one query per kind."""
    entries = LedgerEntry.objects.filter(stream__name=stream).order_by("sequence")
    if kinds is not None:
        entries = entries.filter(record_type__in=[KINDS[kind]._meta.label_lower for kind in kinds])
    links = list(entries.values_list("record_type", "record_id"))
    rows: dict[tuple[str, int], LedgerRecord] = {}
    for label in {label for label, _ in links}:
        model = apps.get_model(label)
        wanted = [pk for kind, pk in links if kind == label]
        rows |= {(label, pk): row for pk, row in model._default_manager.in_bulk(wanted).items()}
    return [rows[link] for link in links]


def names_of(rows: Iterable[LedgerRecord]) -> Names:
    """Keys for rows in ledger order."""
    names = Names()
    for row in rows:
        names.add(row)
    return names


def dump_stream(owner: Pool | Study, kinds: Iterable[str] | None = None) -> Stream:
    """What is recorded about a pool or a study, as records; ``kinds`` leaves the others unread."""
    rows = entries_of(owner.stream, kinds)
    scopes = {"": names_of(rows)}
    if isinstance(owner, Study):
        if owner.pool is not None:
            scopes["pool:"] = names_of(entries_of(owner.pool.stream))
        if owner.parent is not None:
            scopes["parent:"] = names_of(entries_of(owner.parent.stream))
    return Stream(owner.slug, [_dump(row, scopes) for row in rows if type(row) in KIND_OF])


def _dump(row: LedgerRecord, scopes: dict[str, Names]) -> Record:
    values: dict[str, Any] = {}
    for item in stored_fields(type(row)):
        value = getattr(row, item.attname)
        if value is None and item.name in _ADDED_LATER.get(type(row), ()):
            continue
        if isinstance(item, models.ForeignKey) and value is not None:
            value = _key(item, value, row, scopes)
        values[item.name] = canonical(value)
    return Record(KIND_OF[type(row)], values)


def _key(item: models.ForeignKey, pk: int, row: LedgerRecord, scopes: dict[str, Names]) -> str:
    target = _target(item)
    if isinstance(row, Study):
        return _owner(item).objects.get(pk=pk).slug
    for prefix, names in scopes.items():
        if (target, pk) in names.keys:
            return prefix + names.keys[target, pk]
    raise ArchiveError(f"{row._meta.verbose_name} {row.pk}: its {item.name} belongs to another study")


def _target(item: models.ForeignKey) -> type[LedgerRecord]:
    assert isinstance(item.related_model, type)
    assert issubclass(item.related_model, LedgerRecord)
    return item.related_model


def _owner(item: models.ForeignKey) -> type[Pool] | type[Study]:
    return Pool if item.name == "pool" else Study


def build_row(
    record: Record, owner: LedgerRecord | None, scopes: dict[str, Names], place: str
) -> LedgerRecord:
    """An unsaved row from a record.

    Raises ``ArchiveError`` that names the place, the field, its value and what was expected.
    """
    model = KINDS[record.kind]
    fields = {item.name: item for item in stored_fields(model)}
    for name in record.fields:
        if name not in fields:
            raise ArchiveError(f"{place} {name}: unknown field, expected {', '.join(fields)}")
    row = model()
    if owner is not None:
        setattr(row, "pool" if isinstance(owner, Pool) else "study", owner)
    for name, item in fields.items():
        if name not in record.fields:
            if not (item.has_default() or item.null or item.blank):
                raise ArchiveError(f"{place} {name}: missing")
            continue  # an older bundle does not have every optional field
        value = record.fields[name]
        if isinstance(item, models.ForeignKey):
            setattr(row, name, _find(item, value, scopes, f"{place} {name}", row))
        else:
            setattr(row, item.attname, _clean(item, value, row, f"{place} {name}"))
    return row


def _find(item: models.ForeignKey, key: Any, scopes: dict[str, Names], place: str, row: LedgerRecord):
    if key is None and item.null:
        return None
    target = _target(item)
    if isinstance(row, Study):
        found = _owner(item).objects.filter(slug=str(key)).first()
        if found is None:
            raise ArchiveError(
                f"{place}: {key!r}, expected a {target._meta.verbose_name} that is already imported"
            )
        return found
    for prefix, names in scopes.items():  # the stream's own first: an id may have a colon itself
        wanted = target, str(key).removeprefix(prefix)
        if str(key).startswith(prefix) and wanted in names.rows:
            return names.rows[wanted]
    raise ArchiveError(f"{place}: {key!r}, expected a known {target._meta.verbose_name}")


def _clean(item: models.Field, value: Any, row: LedgerRecord, place: str) -> Any:
    if expected := type_problem(item, value):
        found = "null" if value is None else repr(value)[:120]
        raise ArchiveError(f"{place}: {found}, expected {expected}")
    if value is None or isinstance(item, models.JSONField):
        return value
    try:
        return item.clean(value, row)
    except ValidationError as error:
        raise ArchiveError(f"{place}: {str(value)[:120]!r}, {' '.join(error.messages)}") from None


def kinds_in(records: Sequence[Record]) -> dict[str, int]:
    """How many records of each kind, in the order of ``KINDS``."""
    counts = dict.fromkeys(KINDS, 0)
    for record in records:
        counts[record.kind] += 1
    return {kind: count for kind, count in counts.items() if count}
