"""What happened around the invocations: events, slots that were never launched, scheduler allocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studies.models import Allocation, Attempt, Event, NonLaunch, SeedSlot, Study
from studies.services.adding import add_or_find
from studies.services.errors import UploadProblem, UploadRefused


def add_events(study: Study, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Event, bool]]:
    """Record events; ``position`` is an event's number and identity.

    Raises ``UploadConflict``, or ``UploadRefused`` for one that ends before it starts.
    """
    _in_order(rows)
    wanted = [Event(study=study, **row) for row in rows]
    return add_or_find(study.stream, wanted, "position", Event.objects.filter(study=study))


def add_allocations(study: Study, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Allocation, bool]]:
    """Record scheduler allocations; ``pair_id`` says for what each was made, and is its identity.

    Raises ``UploadConflict``, or ``UploadRefused`` for one that ends before it starts.
    """
    _in_order(rows)
    wanted = [Allocation(study=study, **row) for row in rows]
    return add_or_find(study.stream, wanted, "pair_id", Allocation.objects.filter(study=study))


def add_non_launches(study: Study, rows: Sequence[Mapping[str, Any]]) -> list[tuple[NonLaunch, bool]]:
    """Record that slots were never launched; ``slot`` is a slot's name.

    Raises ``UploadConflict``, or ``UploadRefused`` for a slot that is not planned or has an attempt.
    """
    named = [row["slot"] for row in rows]
    slots = {row.experiment_id: row for row in SeedSlot.objects.filter(study=study, experiment_id__in=named)}
    launched = set(
        Attempt.objects.filter(slot__in=slots.values()).values_list("slot__experiment_id", flat=True)
    )
    problems, wanted = [], []
    for index, row in enumerate(rows):
        name = row["slot"]
        if name not in slots:
            problems.append(UploadProblem(index, "slot", f"{name!r} is no slot of {study.slug}"))
        elif name in launched:
            problems.append(UploadProblem(index, "slot", f"{name!r} has an attempt, so it was launched"))
        else:
            wanted.append(NonLaunch(study=study, **{**row, "slot": slots[name]}))
    if problems:
        raise UploadRefused(problems)
    return add_or_find(study.stream, wanted, "slot", NonLaunch.objects.filter(study=study))


def _in_order(rows: Sequence[Mapping[str, Any]]) -> None:
    problems = [
        UploadProblem(index, "ended_at", "expected no earlier than started_at")
        for index, row in enumerate(rows)
        if row.get("started_at") and row.get("ended_at") and row["ended_at"] < row["started_at"]
    ]
    if problems:
        raise UploadRefused(problems)
