"""From the seed slots of a configuration to its label. The only place where that is decided.

An unresolved configuration has no label: it is not a fourth class. What is already known about it, a
memory failure or a peak above the margin, is kept beside the missing label.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from studies.estimation.errors import EstimationError
from studies.estimation.fields import is_finite_number

UNRESOLVED = "unresolved"
"""The word shown where a label is missing. Never a `Label`."""

OutcomeKind = Literal["completed", "memory_failure"]


class Label(StrEnum):
    """The three classes a configuration can be observed in and a method can predict."""

    WITHIN_MARGIN = "within_margin"
    ABOVE_MARGIN = "above_margin"
    MEMORY_FAILURE = "memory_failure"

    @property
    def approves(self) -> bool:
        """Whether predicting this label approves the configuration."""
        return self is Label.WITHIN_MARGIN

    @property
    def rejects(self) -> bool:
        """Whether predicting this label rejects the configuration."""
        return not self.approves


class Undecided(StrEnum):
    """What a method answers when it can't call a target. Nothing observed is ever this."""

    UNDECIDED = "undecided"

    @property
    def approves(self) -> bool:
        """It is no approval."""
        return False

    @property
    def rejects(self) -> bool:
        """It is no rejection either."""
        return False


UNDECIDED = Undecided.UNDECIDED

Answer = Label | Undecided
"""What a method can say of a target: one of the three labels, or that it is too close to call."""


def parse_answer(value: object, offender: str, field: str = "predicted_state") -> Answer:
    """The answer that `value` spells.

    Raises:
        EstimationError: for any other word.
    """
    return UNDECIDED if value == UNDECIDED.value else parse_label(value, offender, field)


def parse_label(value: object, offender: str, field: str = "label") -> Label:
    """The label that `value` spells.

    Raises:
        EstimationError: for any other word. An unresolved row is refused like every fourth class.
    """
    if isinstance(value, str):
        try:
            return Label(value)
        except ValueError:
            pass
    expected = "one of " + ", ".join(Label)
    if value == UNDECIDED.value:
        expected += " (only a prediction can be undecided)"
    if value in (UNRESOLVED, None, ""):
        expected += " (an unresolved configuration has no label and can't be offered as a truth)"
    raise EstimationError(offender, field, value, expected)


@dataclass(frozen=True)
class SlotOutcome:
    """What one planned process established.

    Attributes:
        seed: training seed of the slot.
        kind: `completed`, `memory_failure` (diagnosed), or None while the slot is unresolved, whatever the
            reason: not started, host memory, software, missing evidence.
        peak_mib: largest sampled per-device memory of a completed process, MiB. None for every other kind:
            what a failed process had used when it died says nothing about what it needed.
    """

    seed: int
    kind: OutcomeKind | None
    peak_mib: float | None = None

    def __post_init__(self) -> None:
        offender = f"slot with seed {self.seed!r}"
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise EstimationError(offender, "seed", self.seed, "a whole number")
        if self.kind not in ("completed", "memory_failure", None):
            raise EstimationError(
                offender, "kind", self.kind, "completed, memory_failure, or None for an unresolved slot"
            )
        if self.kind == "completed":
            if not is_peak(self.peak_mib):
                raise EstimationError(
                    offender,
                    "peak_mib",
                    self.peak_mib,
                    "a finite peak above zero in MiB for a completed process",
                )
        elif self.peak_mib is not None:
            raise EstimationError(
                offender, "peak_mib", self.peak_mib, "no peak, because only a completed process has one"
            )


def is_peak(value: object) -> bool:
    """Whether `value` can be a peak in MiB: a finite number above zero."""
    return is_finite_number(value) and value > 0


@dataclass(frozen=True)
class Resolution:
    """What the slots of one configuration establish together.

    Attributes:
        label: the repeated label, or None while the configuration is unresolved.
        known_memory_failure: some slot has a diagnosed memory failure, resolved or not.
        known_margin_exceedance: some slot completed above the margin, resolved or not.
        completed_processes: number of completed slots.
        eligible_seeds: seeds of the slots that count, ascending.
        unresolved_seeds: the other planned seeds, ascending.
        completed_peak_mib: largest peak, MiB; None unless every slot completed.
        maximum_known_completed_peak_mib: largest peak of the slots that did complete, MiB, or None.
    """

    label: Label | None
    known_memory_failure: bool
    known_margin_exceedance: bool
    completed_processes: int
    eligible_seeds: tuple[int, ...]
    unresolved_seeds: tuple[int, ...]
    completed_peak_mib: float | None
    maximum_known_completed_peak_mib: float | None

    @property
    def state(self) -> str:
        """The label, or the word for its absence."""
        return UNRESOLVED if self.label is None else self.label.value

    @property
    def possible(self) -> tuple[Label, ...]:
        """The labels that the configuration has or can still get: what one slot did is never undone."""
        if self.label is not None:
            return (self.label,)
        if self.known_memory_failure:
            return (Label.MEMORY_FAILURE,)
        if self.known_margin_exceedance:
            return (Label.ABOVE_MARGIN, Label.MEMORY_FAILURE)
        return tuple(Label)

    @property
    def planned_seeds(self) -> tuple[int, ...]:
        """All seeds of the configuration, ascending."""
        return tuple(sorted(self.eligible_seeds + self.unresolved_seeds))


def is_unscored_approval(approves: bool, resolution: Resolution) -> bool:
    """Whether an answer approves a configuration that has no label yet: neither a success nor a failure."""
    return approves and resolution.label is None


def exceeds_margin(peak_mib: float, margin_mib: float) -> bool:
    """Whether a completed peak is above the margin. The margin itself is within."""
    return peak_mib > margin_mib


def slot_state(slot: SlotOutcome, margin_mib: float) -> str:
    """The state of one slot as the study's tables spell it, `unresolved` included."""
    if slot.kind is None:
        return UNRESOLVED
    if slot.kind == "memory_failure":
        return Label.MEMORY_FAILURE.value
    assert slot.peak_mib is not None
    return (Label.ABOVE_MARGIN if exceeds_margin(slot.peak_mib, margin_mib) else Label.WITHIN_MARGIN).value


def resolve(
    slots: Sequence[SlotOutcome],
    margin_mib: float,
    *,
    seeds: Collection[int] | None = None,
    configuration_id: str = "configuration",
) -> Resolution:
    """Label one configuration from its planned slots, given in any order.

    Args:
        slots: all planned slots, unresolved ones included.
        margin_mib: memory margin per device, MiB. A peak equal to it is within.
        seeds: the evaluation seeds of the protocol, one slot each; one that has no slot yet is unresolved.
            Without them the slots given are the whole plan.
        configuration_id: named in an error.

    Raises:
        EstimationError: no slot at all, a seed given twice, or one that the protocol doesn't plan.
    """
    if not is_peak(margin_mib):
        raise EstimationError(configuration_id, "margin_mib", margin_mib, "a finite margin above zero in MiB")
    given = [slot.seed for slot in slots]
    planned = given if seeds is None else list(seeds)
    if not planned:
        raise EstimationError(configuration_id, "slots", given, "at least one planned slot")
    if len(set(given)) != len(given):
        raise EstimationError(configuration_id, "slots", given, "each seed once")
    for seed in given:
        if seed not in planned:
            raise EstimationError(configuration_id, "seed", seed, f"one of the planned {sorted(planned)}")

    peaks = [slot.peak_mib for slot in slots if slot.peak_mib is not None]
    failed = any(slot.kind == "memory_failure" for slot in slots)
    exceeded = any(exceeds_margin(peak, margin_mib) for peak in peaks)
    eligible = tuple(sorted(slot.seed for slot in slots if slot.kind is not None))
    unresolved = tuple(sorted(set(planned) - set(eligible)))

    label: Label | None
    if unresolved:
        label = None
    elif failed:
        label = Label.MEMORY_FAILURE
    elif exceeded:
        label = Label.ABOVE_MARGIN
    else:
        label = Label.WITHIN_MARGIN

    largest = max(peaks, default=None)
    return Resolution(
        label=label,
        known_memory_failure=failed,
        known_margin_exceedance=exceeded,
        completed_processes=len(peaks),
        eligible_seeds=eligible,
        unresolved_seeds=unresolved,
        completed_peak_mib=largest if len(peaks) == len(planned) else None,
        maximum_known_completed_peak_mib=largest,
    )
