"""Keeps projections in step: called with what was just recorded, in its transaction, with its stream held."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TypeVar

from django.db import models

from rlvram_site.ledger.links import ChainedRow
from studies.models import (
    Amendment,
    Attempt,
    CellProjection,
    Configuration,
    ConfigurationProjection,
    Exclusion,
    NonLaunch,
    Prediction,
    PredictionSet,
    Protocol,
    Seal,
    SeedSlot,
    SlotProjection,
    Study,
    StudyProjection,
)
from studies.services.projections import rebuilding
from studies.services.projections.deriving import (
    Basis,
    basis_of,
    blank_projection,
    cell_projection,
    fresh_projection,
    is_unscored,
    predictions_of,
    resolutions_of,
    resolve_projection,
    slot_projections,
    slots_of,
)
from studies.services.projections.tallies import Changes, CountsBroken

CHUNK = 500
"""Configurations that are looked at together; every set of keys in a query stays this small."""

_Item = TypeVar("_Item")


@dataclass
class Touched:
    """What was recorded of one study, as far as projections depend on it."""

    basis: bool = False
    configurations: set[int] = field(default_factory=set)
    slots: set[int] = field(default_factory=set)
    attempts: set[int] = field(default_factory=set)
    predicted: set[int] = field(default_factory=set)
    plain: dict[int, list[Attempt]] = field(default_factory=lambda: defaultdict(list))
    """New attempts that correct nothing, by slot."""


def follow(rows: Sequence[ChainedRow]) -> None:
    """Bring the projections in step with these rows, which stand in the ledger since a moment ago."""
    for study_id, touched in _by_study(rows).items():
        basis = _basis(study_id, touched)
        if basis.margin_mib is None:
            continue
        try:
            _refresh(basis, touched)
        except CountsBroken:
            rebuilding.rebuild(Study.objects.get(pk=study_id))


def _by_study(rows: Iterable[ChainedRow]) -> dict[int, Touched]:
    found: dict[int, Touched] = defaultdict(Touched)
    for row in rows:
        if isinstance(row, Configuration):
            if row.study_id is not None:
                found[row.study_id].configurations.add(row.pk)
        elif isinstance(row, SeedSlot):
            found[row.study_id].configurations.add(row.configuration_id)
            found[row.study_id].slots.add(row.pk)
        elif isinstance(row, Attempt):
            if row.slot_id is not None:
                found[row.study_id].slots.add(row.slot_id)
                if row.supersedes_id is None:
                    found[row.study_id].plain[row.slot_id].append(row)
            if row.supersedes_id is not None:
                found[row.study_id].attempts.add(row.supersedes_id)
        elif isinstance(row, Exclusion):
            found[row.study_id].attempts.add(row.attempt_id)
        elif isinstance(row, NonLaunch):
            found[row.study_id].slots.add(row.slot_id)
        elif isinstance(row, Prediction):
            found[row.study_id].predicted.add(row.configuration_id)
        elif isinstance(row, Study):
            found[row.pk].basis = True
        elif isinstance(row, Protocol | Amendment | PredictionSet | Seal):
            found[row.study_id].basis = True
    return found


def _basis(study_id: int, touched: Touched) -> Basis:
    """The study's basis. Where it became another one, everything of the study is made anew on it."""
    stored = StudyProjection.objects.filter(study=study_id).first()
    if stored is not None and not touched.basis:
        return Basis.of(stored)
    study = Study.objects.get(pk=study_id)
    basis = basis_of(study)
    if stored is None or Basis.of(stored) != basis:
        rebuilding.rebuild(study, basis)
    return basis


def _refresh(basis: Basis, touched: Touched) -> None:
    slots = touched.slots | _slots_behind(touched.attempts)
    planned = set(touched.configurations | touched.predicted)
    if planned:
        for part in _chunks(slots):
            owners = SeedSlot.objects.filter(pk__in=part).order_by()
            planned.update(slot.configuration_id for slot in owners.only("configuration"))
        for keys in _chunks(planned):
            refresh(basis, slots_of(configurations=keys), set(keys), slots, touched)
    else:
        for keys in _chunks(slots):
            found = slots_of(slots=keys)
            refresh(basis, found, {slot.configuration_id for slot in found}, slots, touched)


def _slots_behind(attempts: Collection[int]) -> set[int]:
    """The slots of these attempts and of whatever corrects them, entry after entry."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = set(attempts)
    while waiting:
        part = set(list(waiting)[:CHUNK])
        waiting -= part
        seen |= part
        rows = Attempt.objects.filter(models.Q(pk__in=part) | models.Q(supersedes__in=part))
        for pk, slot in rows.values_list("pk", "slot"):
            if slot is not None:
                found.add(slot)
            if pk not in seen:
                waiting.add(pk)
    return found


def refresh(
    basis: Basis,
    slots: Sequence[SeedSlot],
    configurations: set[int],
    dirty: Collection[int],
    touched: Touched,
) -> None:
    """Bring the rows of these configurations, whose ``slots`` are given, in step. Of the slots, the ``dirty``
    ones are derived again; cells are derived where a label, a known flag or a prediction is new."""
    stale = [slot for slot in slots if slot.pk in dirty or not hasattr(slot, "projection")]
    made = {row.slot_id: row for row in _derived(stale, basis, touched)}
    if made:
        _put(SlotProjection, made.values())
    for slot in slots:
        if slot.pk in made:
            slot.projection = made[slot.pk]
    before = ConfigurationProjection.objects.in_bulk(configurations)
    now = {pk: copy(row) for pk, row in before.items()}
    if missing := configurations - before.keys():
        for row in Configuration.objects.filter(pk__in=missing, study=basis.study_id):
            now[row.pk] = blank_projection(row)
    for pk, resolution in resolutions_of({pk: row.name for pk, row in now.items()}, slots, basis).items():
        resolve_projection(now[pk], resolution)
    after = {
        pk: row
        for pk, row in now.items()
        if pk not in before or pk in touched.predicted or not _same(before[pk], row)
    }
    if after:
        _move(basis, {pk: row for pk, row in before.items() if pk in after}, after)


def _derived(slots: Sequence[SeedSlot], basis: Basis, touched: Touched) -> Iterator[SlotProjection]:
    """What these slots' attempts establish. Where the first were recorded just now, they are at hand."""
    known = []
    for slot in slots:
        first = touched.plain.get(slot.pk)
        untried = hasattr(slot, "projection") and not slot.projection.attempts
        if first and untried and not touched.attempts:
            yield fresh_projection(slot, first, basis)
        else:
            known.append(slot)
    if known:
        yield from slot_projections(known, basis)


def _move(
    basis: Basis, before: dict[int, ConfigurationProjection], after: dict[int, ConfigurationProjection]
) -> None:
    """Write the new rows with their cells, and what that changes in the counts."""
    changes = Changes()
    stored = _cells(before)
    predictions = predictions_of(basis, after)
    written: list[CellProjection] = []
    for pk, row in after.items():
        if pk in before:
            changes.add(before[pk], stored[pk], -1)
        cells = [] if row.problem else [cell_projection(item, row) for item in predictions[pk]]
        row.unscored = is_unscored(cells, basis)
        changes.add(row, cells)
        written += cells
    _put(ConfigurationProjection, after.values())
    if written:
        _put(CellProjection, written)
    changes.write(basis.study_id)


def _cells(before: Collection[int]) -> dict[int, list[CellProjection]]:
    found: dict[int, list[CellProjection]] = defaultdict(list)
    if before:
        for cell in CellProjection.objects.filter(configuration__in=before):
            found[cell.configuration_id].append(cell)
    return found


def _same(stored: ConfigurationProjection, now: ConfigurationProjection) -> bool:
    """Whether nothing that a configuration's row or its cells show is another than before."""
    names = ("state", "known_memory_failure", "known_margin_exceedance", "completed_peak_mib", "problem")
    return all(getattr(stored, name) == getattr(now, name) for name in names)


def _put(model: type[models.Model], rows: Iterable[models.Model]) -> None:
    """Insert these rows, or write them over those that stand."""
    key = model._meta.pk
    assert key is not None
    columns = [item.name for item in model._meta.concrete_fields if not item.primary_key]
    model._default_manager.bulk_create(
        list(rows), update_conflicts=True, unique_fields=[key.name], update_fields=columns
    )


def _chunks(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    found = sorted(items)  # type: ignore[type-var]
    for start in range(0, len(found), CHUNK):
        yield found[start : start + CHUNK]
