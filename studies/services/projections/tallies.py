"""Counts over a study's configurations and cells, as changes that add up in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db import models

from studies.models import CellProjection, ConfigurationProjection, GroupCount, MethodTally


class GroupKey(NamedTuple):
    """The columns that tell one ``GroupCount`` of a study from another."""

    prediction_set_id: int | None
    method: str
    model_family: str
    workload_id: str
    workload_name: str
    level: str
    gpu_count: int
    state: str


class TallyKey(NamedTuple):
    """The columns that tell one ``MethodTally`` of a study from another."""

    prediction_set_id: int
    method: str
    predicted: str
    observed: str
    known_memory_failure: bool
    known_margin_exceedance: bool


class CountsBroken(Exception):
    """The stored counts can't be what the ledger gives; they are to be made anew."""


class Changes:
    """What is to be added to a study's counts."""

    def __init__(self) -> None:
        self.groups: Counter[GroupKey] = Counter()
        self.tallies: Counter[TallyKey] = Counter()

    def add(self, row: ConfigurationProjection, cells: Iterable[CellProjection], sign: int = 1) -> None:
        """Count a configuration with its cells, or with ``sign`` -1 take it out again."""
        if row.problem:
            return
        self.groups[_group(row, None, "", row.state)] += sign
        for cell in cells:
            self.groups[_group(row, cell.prediction_set_id, cell.method, cell.state)] += sign
            key = TallyKey(
                cell.prediction_set_id, cell.method, cell.predicted, row.state, row.known_memory_failure,
                row.known_margin_exceedance,
            )  # fmt: skip
            self.tallies[key] += sign

    def write(self, study_id: int) -> None:
        """Add it to what stands. Whoever calls holds the study's stream."""
        self.groups = Counter({key: value for key, value in self.groups.items() if value})
        self.tallies = Counter({key: value for key, value in self.tallies.items() if value})
        if self.groups:
            keys = self.groups
            groups = GroupCount.objects.filter(
                study=study_id,
                workload_id__in={key.workload_id for key in keys},
                level__in={key.level for key in keys},
                gpu_count__in={key.gpu_count for key in keys},
            )
            _merge(GroupCount, groups, keys, study_id, GroupKey)
        if self.tallies:
            tallies = MethodTally.objects.filter(
                study=study_id, prediction_set__in={key.prediction_set_id for key in self.tallies}
            )
            _merge(MethodTally, tallies, self.tallies, study_id, TallyKey)


def _group(row: ConfigurationProjection, prediction_set_id: int | None, method: str, state: str) -> GroupKey:
    return GroupKey(
        prediction_set_id, method, row.model_family, row.workload_id, row.workload_name, row.level,
        row.gpu_count, state,
    )  # fmt: skip


def _merge(model: Any, stored: models.QuerySet, changes: Counter, study_id: int, key_type: Any) -> None:
    """Add ``changes`` to the stored rows; a count that becomes zero goes."""
    known = {key_type(*(getattr(row, name) for name in key_type._fields)): row for row in stored}
    new: list[Any] = []
    changed: list[Any] = []
    gone: list[Any] = []
    for key, number in changes.items():
        row = known.get(key)
        if row is None:
            row = model(study_id=study_id, **key._asdict(), number=number)
            new.append(row)
        else:
            row.number += number
            (changed if row.number else gone).append(row)
        if row.number < 0:
            raise CountsBroken(f"{model.__name__} would be negative for {key}")
    if new:
        model.objects.bulk_create(new)
    if changed:
        model.objects.bulk_update(changed, ["number"], batch_size=500)
    if gone:
        model.objects.filter(pk__in=[row.pk for row in gone]).delete()
