"""All projections of a study made anew from the ledger, and compared with those that stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from django.db import connection, models, transaction

from rlvram_site.ledger.chain import lock_stream
from studies.models import (
    CellProjection,
    Configuration,
    ConfigurationProjection,
    GroupCount,
    MethodTally,
    SlotProjection,
    Study,
    StudyProjection,
)
from studies.services.projections.deriving import (
    VERSION,
    Basis,
    basis_of,
    blank_projection,
    cell_projection,
    is_unscored,
    predictions_of,
    resolutions_of,
    resolve_projection,
    slot_projections,
    slots_of,
)
from studies.services.projections.tallies import Changes

CHUNK = 500
DEPENDENT = (GroupCount, MethodTally, CellProjection, ConfigurationProjection, SlotProjection)


def rebuild(study: Study, basis: Basis | None = None) -> None:
    """Make every projection of ``study`` anew. Nobody can extend its stream meanwhile."""
    with transaction.atomic():
        lock_stream(study.stream)
        basis = basis or basis_of(study)
        for model in (*DEPENDENT, StudyProjection):
            model._default_manager.filter(study=study).delete()
        basis.row().save(force_insert=True)
        changes = Changes()
        for part in _parts(study, basis, changes):
            for rows in part:
                if rows:
                    plain: models.QuerySet = models.QuerySet(type(rows[0]))
                    plain.bulk_create(rows, batch_size=CHUNK)
        changes.write(study.pk)


def make_missing(sender: object = None, using: str = "default", **kwargs: object) -> None:
    """Make the projections of studies that have none, or have them by earlier rules. Safe to run again."""
    if using != "default" or StudyProjection._meta.db_table not in connection.introspection.table_names():
        return
    for study in Study.objects.exclude(projection__version=VERSION).order_by("pk"):
        rebuild(study)


Part = tuple[list[SlotProjection], list[ConfigurationProjection], list[CellProjection]]


def _parts(study: Study, basis: Basis, changes: Changes) -> Iterator[Part]:
    """The study's rows from the ledger, some configurations at a time; ``changes`` collects the counts."""
    if basis.margin_mib is None:
        return
    wanted = Configuration.objects.filter(study=study).order_by("pk")
    pending = wanted.values_list("pk", flat=True).iterator(chunk_size=2000)
    while keys := list(islice(pending, CHUNK)):
        configurations = {row.pk: row for row in Configuration.objects.filter(pk__in=keys)}
        slots = slots_of(configurations=keys)
        made = {row.slot_id: row for row in slot_projections(slots, basis)}
        for slot in slots:
            slot.projection = made[slot.pk]
        names = {pk: row.configuration_id for pk, row in configurations.items()}
        resolutions = resolutions_of(names, slots, basis)
        predictions = predictions_of(basis, keys)
        rows, cells = [], []
        for pk, configuration in configurations.items():
            row = blank_projection(configuration)
            resolve_projection(row, resolutions[pk])
            own = [] if row.problem else [cell_projection(item, row) for item in predictions[pk]]
            row.unscored = is_unscored(own, basis)
            changes.add(row, own)
            rows.append(row)
            cells += own
        yield list(made.values()), rows, cells


def difference(study: Study) -> str:
    """The first difference between the study's projections and what its ledger gives; empty if there is none.

    Nobody can extend its stream meanwhile, so both are of one moment.
    """
    with transaction.atomic():
        lock_stream(study.stream)
        return next(_differences(study), "")


def difference_of_stream(stream: str) -> str:
    """``difference`` of the study whose stream this is; empty for another stream."""
    kind, _, slug = stream.partition("/")
    study = Study.objects.filter(slug=slug).first() if kind == "study" else None
    return difference(study) if study is not None else ""


def _differences(study: Study) -> Iterator[str]:
    basis, changes = basis_of(study), Changes()
    stored = StudyProjection.objects.filter(study=study).first()
    if stored is None or stored.version != VERSION or Basis.of(stored) != basis:
        yield "the basis (margin, tries, the panel's predictions) is not that of the ledger"
        return
    numbers = dict.fromkeys((SlotProjection, ConfigurationProjection, CellProjection), 0)
    for part in _parts(study, basis, changes):
        for rows in part:
            if rows:
                numbers[type(rows[0])] += len(rows)
                yield from _unlike(rows)
    for model, number in numbers.items():
        if (there := model._default_manager.filter(study=study).count()) != number:
            yield f"{model._meta.verbose_name}: {there} rows, the ledger gives {number}"
    yield from _unlike_counts(study, changes)


def _unlike(rows: list) -> Iterator[str]:
    model = type(rows[0])
    names = [field.attname for field in model._meta.concrete_fields]
    stored = model._default_manager.in_bulk([row.pk for row in rows])
    for row in rows:
        there = stored.get(row.pk)
        if there is None:
            yield f"{model._meta.verbose_name} {row.pk} is missing"
            continue
        for name in names:
            if getattr(row, name) != getattr(there, name):
                yield (
                    f"{model._meta.verbose_name} {row.pk} has {name} {getattr(there, name)!r}, "
                    f"the ledger gives {getattr(row, name)!r}"
                )


def _unlike_counts(study: Study, changes: Changes) -> Iterator[str]:
    for model, wanted in ((GroupCount, changes.groups), (MethodTally, changes.tallies)):
        yield from _unlike_count(study, model, wanted)


def _unlike_count(
    study: Study, model: type[GroupCount] | type[MethodTally], wanted: Mapping
) -> Iterator[str]:
    rows: list[Any] = list(model._default_manager.filter(study=study))
    key_names = next(iter(wanted))._fields if wanted else ()
    stored = {tuple(getattr(row, name) for name in key_names): row for row in rows}
    if len(rows) != len(wanted) or len(stored) != len(rows):
        yield f"{model._meta.verbose_name}: {len(rows)} rows, the ledger gives {len(wanted)}"
        return
    for key, number in wanted.items():
        row = stored.get(tuple(key))
        if row is None:
            yield f"{model._meta.verbose_name} {tuple(key)} is missing"
        elif row.number != number:
            yield f"{model._meta.verbose_name} {tuple(key)} is {row.number}, the ledger gives {number}"
