"""Which attempt of a slot counts, and why a slot is unresolved. The only place where that is decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Exists, OuterRef, QuerySet

from studies.estimation.labels import SlotOutcome, slot_state
from studies.estimation.tries import SlotTries
from studies.models import Attempt, Exclusion, NonLaunch, SeedSlot
from studies.services.ledger_order import ESTABLISHES_OUTCOME
from studies.services.plan.protocols import tries_by_study

NOT_STARTED = "not started"
LARGE_COLUMNS = ("facts", "evidence", "derivation", "texts")
"""Columns of an attempt that say nothing about what it is to its slot."""

Known = Callable[["Attempt | Exclusion | NonLaunch"], bool]
"""Whether a row was known at the moment that is looked at."""


class AttemptRole(StrEnum):
    """What an attempt is to its slot."""

    ELIGIBLE = "eligible"
    EXCLUDED = "excluded"
    SUPERSEDED = "superseded by a corrected entry"
    NO_OUTCOME = "no outcome"
    LATER = "later than the eligible one"
    NOT_PERMITTED = "one more than the protocol permits"
    UNPLANNED = "unplanned"


@dataclass(frozen=True)
class AttemptState:
    """An attempt, its role, and the exclusion that stands against it (None if none does).

    ``supersedes`` is the wrong entry that it corrects, ``superseded_by`` the entry that corrects it.
    """

    attempt: Attempt
    role: AttemptRole
    exclusion: Exclusion | None
    supersedes: Attempt | None = None
    superseded_by: Attempt | None = None

    @property
    def inherits_exclusion(self) -> bool:
        """Whether the exclusion was recorded against an entry that this one supersedes."""
        return self.exclusion is not None and self.exclusion.attempt_id != self.attempt.pk


@dataclass(frozen=True)
class SlotState:
    """A slot with all its attempts in the order of its tries, and what they establish.

    A corrected entry stands right after the one that it supersedes.

    ``outcome`` goes into the label; ``reason`` says, in words for a person, why the slot is unresolved and
    is empty when it is not. ``tries`` is the protocol's rule, ``tries_used`` how many are spent.
    """

    slot: SeedSlot
    attempts: tuple[AttemptState, ...]
    eligible: Attempt | None
    non_launch: NonLaunch | None
    outcome: SlotOutcome
    reason: str
    tries: SlotTries
    tries_used: int

    @property
    def one_more_may_count(self) -> bool:
        """Whether one more attempt could become the slot's eligible outcome."""
        return self.eligible is None and self.tries.permits(self.tries_used + 1)

    @property
    def resolved(self) -> bool:
        """Whether the slot has its eligible outcome."""
        return self.eligible is not None

    def role_of(self, attempt: Attempt) -> AttemptRole:
        """What one of the slot's attempts is to it."""
        return next(item.role for item in self.attempts if item.attempt.pk == attempt.pk)

    def state(self, margin_mib: float) -> str:
        """``within_margin``, ``above_margin``, ``memory_failure`` or ``unresolved``."""
        return slot_state(self.outcome, margin_mib)


class Entries:
    """Attempts, and which of them correct which."""

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._rows = {row.pk: row for row in attempts}
        self._corrections = {
            row.supersedes_id: row for row in self._rows.values() if row.supersedes_id is not None
        }

    def superseded_by(self, attempt: Attempt) -> Attempt | None:
        """The entry that corrects this one."""
        return self._corrections.get(attempt.pk)

    def supersedes(self, attempt: Attempt) -> Attempt | None:
        """The entry that this one corrects."""
        return self._rows.get(attempt.supersedes_id) if attempt.supersedes_id is not None else None

    def chain(self, attempt: Attempt) -> list[Attempt]:
        """The attempt, the entry that it supersedes, the one before that, and so on."""
        found = [attempt]
        while (before := self.supersedes(found[-1])) is not None:
            found.append(before)
        return found

    def in_order(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """As they were recorded, but each corrected entry in the place of the entry that it supersedes.

        One that was recorded under another slot had no place in this one, so its correction has its own.
        """
        return sorted(attempts, key=lambda row: (self._place(row), row.pk))

    def _place(self, attempt: Attempt) -> int:
        place = attempt
        for before in self.chain(attempt):
            if before.slot_id != attempt.slot_id:
                break
            place = before
        return place.pk

    def exclusion(self, attempt: Attempt, exclusions: Mapping[int, Iterable[Exclusion]]) -> Exclusion | None:
        """What stands against an attempt. Correcting an entry lifts no exclusion of what it corrects."""
        return standing_exclusion(item for row in self.chain(attempt) for item in exclusions.get(row.pk, ()))

    def state(
        self, attempt: Attempt, role: AttemptRole, exclusions: Mapping[int, Iterable[Exclusion]]
    ) -> AttemptState:
        """The attempt in this role, or superseded if a later entry corrects it."""
        correction = self.superseded_by(attempt)
        return AttemptState(
            attempt,
            role if correction is None else AttemptRole.SUPERSEDED,
            self.exclusion(attempt, exclusions),
            self.supersedes(attempt),
            correction,
        )


def newest_exclusion(exclusions: Iterable[Exclusion]) -> Exclusion | None:
    """The newest of what was recorded about whether one attempt counts. It alone says whether it does."""
    return max(exclusions, key=lambda item: item.pk, default=None)


def standing_exclusion(exclusions: Iterable[Exclusion]) -> Exclusion | None:
    """The exclusion that stands against one attempt: its newest one, unless that lifts."""
    newest = newest_exclusion(exclusions)
    return None if newest is None or newest.lifted else newest


def slot_state_of(
    slot: SeedSlot,
    attempts: Sequence[Attempt],
    exclusions: Mapping[int, Iterable[Exclusion]],
    non_launch: NonLaunch | None,
    rule: SlotTries,
    entries: Entries | None = None,
) -> SlotState:
    """What a slot's attempts establish. The first recorded, not excluded outcome counts; later ones do not.

    ``exclusions`` are all of the study's, by attempt. ``rule`` is how often the protocol lets a slot be
    tried. Whatever comes after that replaces nothing, also when all before it were excluded. An entry that a
    later one supersedes counts nowhere; the later one stands in its place and is no further try. ``entries``
    knows corrections across slots, too: an attempt that was corrected into another slot is no try of this.
    """
    entries = entries or Entries(attempts)
    states: list[AttemptState] = []
    eligible: Attempt | None = None
    launched = 0
    for attempt in entries.in_order(attempts):
        if entries.superseded_by(attempt) is not None:
            states.append(entries.state(attempt, AttemptRole.SUPERSEDED, exclusions))
            continue
        launched += 1
        number = rule.used(launched, never_launched=non_launch is not None)
        if entries.exclusion(attempt, exclusions) is not None:
            role = AttemptRole.EXCLUDED
        elif not rule.permits(number):
            role = AttemptRole.NOT_PERMITTED
        elif attempt.outcome not in ESTABLISHES_OUTCOME:
            role = AttemptRole.NO_OUTCOME
        elif eligible is not None:
            role = AttemptRole.LATER
        else:
            role, eligible = AttemptRole.ELIGIBLE, attempt
        states.append(entries.state(attempt, role, exclusions))
    return SlotState(
        slot=slot,
        attempts=tuple(states),
        eligible=eligible,
        non_launch=non_launch,
        outcome=_outcome(slot, eligible),
        reason="" if eligible else _reason(states, non_launch),
        tries=rule,
        tries_used=rule.used(launched, never_launched=non_launch is not None),
    )


def _outcome(slot: SeedSlot, eligible: Attempt | None) -> SlotOutcome:
    if eligible is None:
        return SlotOutcome(slot.seed, None)
    if eligible.outcome == Attempt.Outcome.COMPLETED:
        return SlotOutcome(slot.seed, "completed", eligible.peak_mib)
    return SlotOutcome(slot.seed, "memory_failure")


def _reason(states: Sequence[AttemptState], non_launch: NonLaunch | None) -> str:
    """The newest permitted attempt says why; an excluded one says why it was excluded."""
    silent = (AttemptRole.NOT_PERMITTED, AttemptRole.SUPERSEDED)
    newest = next((item for item in reversed(states) if item.role not in silent), None)
    if newest is not None:
        if newest.exclusion is not None:
            return f"excluded: {newest.exclusion.reason}"
        return newest.attempt.reason or "no outcome was established"
    return non_launch.reason if non_launch else NOT_STARTED


def slot_states(
    slots: Iterable[SeedSlot],
    *,
    attempts: QuerySet[Attempt] | None = None,
    rules: Mapping[int, SlotTries] | None = None,
    launched: Iterable[NonLaunch] | None = None,
    known: Known = lambda row: True,
) -> dict[int, SlotState]:
    """State by slot, in a number of queries that does not grow with them.

    ``attempts`` loads them with what the caller shows; by default their large columns stay where they are.
    ``rules`` are the studies' own, by primary key, and ``launched`` the failed launches of the slots, where
    the caller has read them already.
    What is not ``known`` counts as not recorded.
    """
    rows = {slot.pk: slot for slot in slots}
    chosen = Attempt.objects.defer(*LARGE_COLUMNS) if attempts is None else attempts
    tries: dict[int | None, list[Attempt]] = defaultdict(list)
    for attempt in _with_flags(chosen.filter(slot__in=rows)).order_by("pk"):
        # Before it is asked about: when it became known may depend on its slot.
        attempt.slot = rows[attempt.slot_id]  # type: ignore[index]
        if known(attempt):
            tries[attempt.slot_id].append(attempt)
    launches = {}
    for launch in NonLaunch.objects.filter(slot__in=rows) if launched is None else launched:
        launch.slot = rows[launch.slot_id]
        if known(launch):
            launches[launch.slot_id] = launch
    if rules is None:
        rules = tries_by_study({slot.study_id for slot in rows.values()})
    found = [item for group in tries.values() for item in group]
    related = _corrections_of(found, known)
    entries = Entries([*related, *found])
    exclusions = _exclusions_of([*related, *found], known)
    return {
        pk: slot_state_of(slot, tries[pk], exclusions, launches.get(pk), rules[slot.study_id], entries)
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
    flagged = _with_flags(Attempt.objects.filter(pk__in=[row.pk for row in unplanned])).defer(*LARGE_COLUMNS)
    found = {row.pk: row for row in flagged}
    related = _corrections_of(list(found.values()))
    entries = Entries([*related, *unplanned])
    against = _exclusions_of([*related, *found.values()])
    return {row.pk: entries.state(row, AttemptRole.UNPLANNED, against) for row in unplanned}


def _with_flags(attempts: QuerySet[Attempt]) -> QuerySet[Attempt]:
    """Each with ``corrected`` and ``judged``: whether a later entry corrects it, and whether any exclusion is
    about it. Most have neither, and then nothing more is asked."""
    return attempts.annotate(
        corrected=Exists(Attempt.objects.filter(supersedes=OuterRef("pk"))),
        judged=Exists(Exclusion.objects.filter(attempt=OuterRef("pk"))),
    )


def _exclusions_of(
    attempts: Iterable[Attempt], known: Known = lambda row: True
) -> dict[int, list[Exclusion]]:
    """Every known exclusion about these, by attempt."""
    judged = {row.pk for row in attempts if row.judged}  # type: ignore[attr-defined]
    found: dict[int, list[Exclusion]] = defaultdict(list)
    if judged:
        for exclusion in filter(known, Exclusion.objects.filter(attempt__in=judged)):
            found[exclusion.attempt_id].append(exclusion)
    return found


def _corrections_of(attempts: Sequence[Attempt], known: Known = lambda row: True) -> list[Attempt]:
    """The known entries that correct these, and the chain of those that these correct, of whatever slot."""
    light = _with_flags(Attempt.objects.select_related("slot").defer(*LARGE_COLUMNS))
    here = {row.pk for row in attempts}
    found: dict[int, Attempt] = {}
    corrected = [row.pk for row in attempts if row.corrected]  # type: ignore[attr-defined]
    if corrected:
        found = {
            row.pk: row for row in light.filter(supersedes__in=corrected).exclude(pk__in=here) if known(row)
        }
    behind = [*attempts, *found.values()]
    while wanted := {row.supersedes_id for row in behind if row.supersedes_id} - here - set(found):
        behind = list(light.filter(pk__in=wanted))
        found |= {row.pk: row for row in behind}
        behind = [row for row in behind if known(row)]
    return list(found.values())
