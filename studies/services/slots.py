"""The state of some slots, without the whole panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Q

from studies.models import Attempt, Exclusion, NonLaunch, SeedSlot
from studies.services.eligibility import AttemptState, Entries, Role, SlotState, slot_state_of
from studies.services.protocols import permitted_by_study


def slot_states(slots: Iterable[SeedSlot]) -> dict[int, SlotState]:
    """State by slot, in a number of queries that does not grow with them."""
    rows = {slot.pk: slot for slot in slots}
    attempts: dict[int, list[Attempt]] = defaultdict(list)
    # The large columns stay where they are: a state needs none of them.
    light = Attempt.objects.defer("facts", "evidence", "derivation", "texts")
    for attempt in light.filter(slot__in=rows).order_by("pk"):
        attempts[attempt.slot_id].append(attempt)  # type: ignore[index]
    exclusions: dict[int, list[Exclusion]] = defaultdict(list)
    for exclusion in Exclusion.objects.filter(attempt__slot__in=rows):
        exclusions[exclusion.attempt_id].append(exclusion)
    launches = {row.slot_id: row for row in NonLaunch.objects.filter(slot__in=rows)}
    permitted = permitted_by_study({slot.study_id for slot in rows.values()})
    return {
        pk: slot_state_of(slot, attempts[pk], exclusions, launches.get(pk), permitted[slot.study_id])
        for pk, slot in rows.items()
    }


def attempt_states(attempts: Iterable[Attempt]) -> dict[int, AttemptState]:
    """What each of these attempts is to its slot. ``attempt.slot`` should be loaded."""
    rows = list(attempts)
    by_slot = slot_states({row.slot_id: row.slot for row in rows if row.slot is not None}.values())
    found = {state.attempt.pk: state for slot in by_slot.values() for state in slot.attempts}
    return {row.pk: found[row.pk] for row in rows if row.slot_id is not None} | _unplanned_states(
        [row for row in rows if row.slot_id is None]
    )


def _unplanned_states(unplanned: list[Attempt]) -> dict[int, AttemptState]:
    if not unplanned:
        return {}
    entries = Entries([*_with_corrections(unplanned), *unplanned])
    against: dict[int, list[Exclusion]] = defaultdict(list)
    for exclusion in Exclusion.objects.filter(
        attempt__in={item.pk for row in unplanned for item in entries.chain(row)}
    ):
        against[exclusion.attempt_id].append(exclusion)
    return {row.pk: entries.state(row, Role.UNPLANNED, against) for row in unplanned}


def _with_corrections(unplanned: list[Attempt]) -> list[Attempt]:
    """Every unplanned attempt of the same studies that corrects another one or is corrected."""
    light = Attempt.objects.defer("facts", "evidence", "derivation", "texts")
    return list(
        light.filter(study__in={row.study_id for row in unplanned}, slot=None).filter(
            Q(supersedes__isnull=False) | Q(superseded_by__isnull=False)
        )
    )
