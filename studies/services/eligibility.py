"""Which attempt of a slot counts, and why a slot is unresolved. The only place where that is decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from studies.estimation.labels import SlotOutcome, slot_state
from studies.models import Attempt, Exclusion, NonLaunch, SeedSlot
from studies.services.order import ESTABLISHES_OUTCOME

NOT_STARTED = "not started"


class Role(StrEnum):
    """What an attempt is to its slot."""

    ELIGIBLE = "eligible"
    EXCLUDED = "excluded"
    NO_OUTCOME = "no outcome"
    LATER = "later than the eligible one"
    NOT_PERMITTED = "one more than the protocol permits"
    UNPLANNED = "unplanned"


@dataclass(frozen=True)
class AttemptState:
    """An attempt, its role, and the exclusion that stands against it (None if none does)."""

    attempt: Attempt
    role: Role
    exclusion: Exclusion | None


@dataclass(frozen=True)
class SlotState:
    """A slot with all its attempts in recorded order, and what they establish.

    ``outcome`` goes into the label; ``reason`` says, in words for a person, why the slot is unresolved and
    is empty when it is not.
    """

    slot: SeedSlot
    attempts: tuple[AttemptState, ...]
    eligible: Attempt | None
    non_launch: NonLaunch | None
    outcome: SlotOutcome
    reason: str

    @property
    def resolved(self) -> bool:
        """Whether the slot has its eligible outcome."""
        return self.eligible is not None

    def state(self, margin_mib: float) -> str:
        """``within_margin``, ``above_margin``, ``memory_failure`` or ``unresolved``."""
        return slot_state(self.outcome, margin_mib)


def standing_exclusion(exclusions: Iterable[Exclusion]) -> Exclusion | None:
    """The exclusion that stands against one attempt: its newest one, unless that lifts."""
    newest = max(exclusions, key=lambda item: item.pk, default=None)
    return None if newest is None or newest.lifted else newest


def slot_state_of(
    slot: SeedSlot,
    attempts: Sequence[Attempt],
    exclusions: dict[int, list[Exclusion]],
    non_launch: NonLaunch | None,
    permitted: int | None,
) -> SlotState:
    """What a slot's attempts establish. The first recorded, not excluded outcome counts; later ones do not.

    ``exclusions`` are all of the study's, by attempt. ``permitted`` is how many attempts the protocol lets a
    slot have (None: as many as it takes); a claim that never became an invocation uses one up. Whatever
    comes after them replaces nothing, also when all before it were excluded.
    """
    states: list[AttemptState] = []
    eligible: Attempt | None = None
    used = 0 if non_launch is None else 1
    for number, attempt in enumerate(sorted(attempts, key=lambda item: item.pk), start=used + 1):
        exclusion = standing_exclusion(exclusions.get(attempt.pk, ()))
        if exclusion is not None:
            role = Role.EXCLUDED
        elif permitted is not None and number > permitted:
            role = Role.NOT_PERMITTED
        elif attempt.outcome not in ESTABLISHES_OUTCOME:
            role = Role.NO_OUTCOME
        elif eligible is not None:
            role = Role.LATER
        else:
            role, eligible = Role.ELIGIBLE, attempt
        states.append(AttemptState(attempt, role, exclusion))
    return SlotState(
        slot=slot,
        attempts=tuple(states),
        eligible=eligible,
        non_launch=non_launch,
        outcome=_outcome(slot, eligible),
        reason="" if eligible else _reason(states, non_launch),
    )


def _outcome(slot: SeedSlot, eligible: Attempt | None) -> SlotOutcome:
    if eligible is None:
        return SlotOutcome(slot.seed, None)
    if eligible.outcome == Attempt.Outcome.COMPLETED:
        return SlotOutcome(slot.seed, "completed", eligible.peak_mib)
    return SlotOutcome(slot.seed, "memory_failure")


def _reason(states: Sequence[AttemptState], non_launch: NonLaunch | None) -> str:
    """The newest permitted attempt says why; an excluded one says why it was excluded."""
    newest = next((item for item in reversed(states) if item.role is not Role.NOT_PERMITTED), None)
    if newest is not None:
        if newest.exclusion is not None:
            return f"excluded: {newest.exclusion.reason}"
        return newest.attempt.reason or "no outcome was established"
    return non_launch.reason if non_launch else NOT_STARTED
