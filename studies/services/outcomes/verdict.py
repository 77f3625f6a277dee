"""What an attempt means for somebody who waits for it: its state, and whether it is worse than expected."""

from __future__ import annotations

from dataclasses import dataclass, field

from studies.estimation.labels import SlotOutcome, slot_state
from studies.models import Attempt, Prediction, PredictionSet
from studies.services.outcomes.slots import slot_states
from studies.services.predictions.recorded import in_method_order

GRAVITY = {"completed": 0, "within_margin": 0, "above_margin": 1, "memory_failure": 2}
"""Unresolved has no place here: nothing was established, so nothing is worse."""

REGRESSION = "regression"


@dataclass(frozen=True)
class Verdict:
    """One attempt, judged.

    Attributes:
        attempt: the attempt.
        state: within_margin, above_margin, memory_failure or unresolved; completed without a plan's margin.
        margin_mib: the configuration's margin, MiB; None for an unplanned attempt.
        predicted: label by method of the sealed predictions for its configuration; empty without a seal.
        before: state and invocation of the slot's eligible attempt, if that is another one.
        worse_than_predicted: worse than every sealed prediction.
        worse_than_before: worse than the slot's eligible attempt.
    """

    attempt: Attempt
    state: str
    margin_mib: float | None = None
    predicted: dict[str, str] = field(default_factory=dict)
    before: tuple[str, str] | None = None
    worse_than_predicted: bool = False
    worse_than_before: bool = False

    @property
    def findings(self) -> list[str]:
        """The state, and ``regression`` where it is worse than expected."""
        worse = self.worse_than_predicted or self.worse_than_before
        return [self.state, REGRESSION] if worse else [self.state]


def verdict_of(attempt: Attempt) -> Verdict:
    """Judge one attempt; ``attempt.slot.configuration`` should be loaded."""
    slot = attempt.slot
    if slot is None:
        return Verdict(attempt, state_of(attempt))
    margin = slot.configuration.margin_limit_mib
    state = state_of(attempt)
    predicted = _sealed(attempt)
    eligible = slot_states([slot])[slot.pk].eligible
    before = None
    if eligible is not None and eligible.pk not in (attempt.pk, attempt.supersedes_id):
        before = (_state(eligible, slot.seed, margin), eligible.invocation_id)
    return Verdict(
        attempt, state, margin, predicted, before,
        worse_than_predicted=bool(predicted) and all(_worse(state, label) for label in predicted.values()),
        worse_than_before=before is not None and _worse(state, before[0]),
    )  # fmt: skip


def state_of(attempt: Attempt) -> str:
    """The state that one attempt shows, whatever it is to its slot; without a plan only its outcome."""
    if attempt.slot is None:
        return str(attempt.outcome)
    return _state(attempt, attempt.slot.seed, attempt.slot.configuration.margin_limit_mib)


def _worse(state: str, than: str) -> bool:
    return state in GRAVITY and than in GRAVITY and GRAVITY[state] > GRAVITY[than]


def _state(attempt: Attempt, seed: int, margin_mib: float) -> str:
    if attempt.outcome == Attempt.Outcome.UNRESOLVED:
        return slot_state(SlotOutcome(seed, None), margin_mib)
    if attempt.outcome == Attempt.Outcome.COMPLETED:
        return slot_state(SlotOutcome(seed, "completed", attempt.peak_mib), margin_mib)
    return slot_state(SlotOutcome(seed, "memory_failure"), margin_mib)


def _sealed(attempt: Attempt) -> dict[str, str]:
    assert attempt.slot is not None
    rows = Prediction.objects.filter(
        configuration=attempt.slot.configuration_id,
        prediction_set__study=attempt.study_id,
        prediction_set__kind=PredictionSet.Kind.PANEL,
        prediction_set__seals__isnull=False,
    ).order_by("prediction_set__seals__pk")
    labels: dict[str, str] = {}
    for row in rows:
        labels.setdefault(row.method, row.label)
    return {name: labels[name] for name in in_method_order(labels)}
