"""The state of some slots, without the whole panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from studies.models import Attempt, Exclusion, NonLaunch, SeedSlot
from studies.services.eligibility import AttemptState, Role, SlotState, slot_state_of, standing_exclusion
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
    unplanned = [row for row in rows if row.slot_id is None]
    against: dict[int, list[Exclusion]] = defaultdict(list)
    if unplanned:
        for exclusion in Exclusion.objects.filter(attempt__in=unplanned):
            against[exclusion.attempt_id].append(exclusion)
    for row in unplanned:
        found[row.pk] = AttemptState(row, Role.UNPLANNED, standing_exclusion(against[row.pk]))
    return {row.pk: found[row.pk] for row in rows}
