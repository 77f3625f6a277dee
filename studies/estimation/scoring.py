"""Scores of one method on configurations whose label is known. Rates without a denominator are None.

Scores of different held-out families, and of different panels, are never put together here or elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.labels import (
    UNDECIDED,
    Answer,
    Label,
    Resolution,
    is_peak,
    is_unscored_approval,
    parse_label,
)
from studies.estimation.methods.base import Prediction
from studies.estimation.pool import PoolConfiguration, refuse_duplicates

ANSWERS = ("approved", "rejected", "undecided")
"""What an answer amounts to."""


@dataclass(frozen=True)
class Truth:
    """What was observed of one configuration.

    Attributes:
        configuration_id: the configuration.
        label: its repeated label; an unresolved configuration can't be a truth.
        completed_peak_mib: largest peak of its three completed processes, MiB, else None.
    """

    configuration_id: str
    label: Label
    completed_peak_mib: float | None = None

    def __post_init__(self) -> None:
        offender = self.configuration_id
        if not isinstance(self.label, Label):
            object.__setattr__(self, "label", parse_label(self.label, offender))
        peak = self.completed_peak_mib
        if self.label is Label.MEMORY_FAILURE:
            if peak is not None:
                raise EstimationError(offender, "completed_peak_mib", peak, "no peak for a memory failure")
        elif not is_peak(peak):
            raise EstimationError(
                offender,
                "completed_peak_mib",
                peak,
                f"a finite peak above zero in MiB for label {self.label}",
            )

    @classmethod
    def of_pool(cls, configuration: PoolConfiguration) -> Truth:
        """The recorded outcome of a pool configuration."""
        return cls(configuration.configuration_id, configuration.label, configuration.completed_peak_mib)

    @classmethod
    def of_resolution(cls, configuration_id: str, resolution: Resolution) -> Truth:
        """The label of a resolved target.

        Raises:
            EstimationError: it is unresolved.
        """
        return cls(
            configuration_id, parse_label(resolution.label, configuration_id), resolution.completed_peak_mib
        )


@dataclass(frozen=True)
class Case:
    """One prediction beside what was observed. Several cases may have one configuration as their target.

    Attributes:
        predicted_state: predicted label, or undecided.
        truth: what was observed of the target.
        predicted_peak_mib: predicted completed peak, MiB, where there is one.
        startup_guard_changed_state: component regression only.
    """

    predicted_state: Answer
    truth: Truth
    predicted_peak_mib: float | None = None
    startup_guard_changed_state: bool | None = None


def case_of(prediction: Prediction, truth: Truth) -> Case:
    """A prediction beside what was observed."""
    return Case(
        predicted_state=prediction.predicted_state,
        truth=truth,
        predicted_peak_mib=prediction.predicted_peak_mib,
        startup_guard_changed_state=prediction.startup_guard_changed_state,
    )


def rate(part: int, whole: int) -> float | None:
    """part / whole, or None where there is nothing to divide by."""
    return part / whole if whole else None


def known_truths(truths: Iterable[Truth]) -> dict[str, Truth]:
    """Truths by configuration id.

    Raises:
        EstimationError: a configuration given twice.
    """
    found = list(truths)
    refuse_duplicates((truth.configuration_id for truth in found), "truths")
    return {truth.configuration_id: truth for truth in found}


def check_coverage(
    predictions: Sequence[Prediction], configuration_ids: Iterable[str], offender: str
) -> None:
    """Refuse predictions that don't cover exactly `configuration_ids`, each once.

    Raises:
        EstimationError: naming the first configuration that is missing, unknown or given twice.
    """
    wanted = list(configuration_ids)
    refuse_duplicates((prediction.configuration_id for prediction in predictions), offender)
    predicted = {prediction.configuration_id for prediction in predictions}
    for configuration_id in sorted(predicted.difference(wanted)):
        raise EstimationError(
            offender, "configuration_id", configuration_id, "a configuration with a known truth"
        )
    for configuration_id in sorted(set(wanted) - predicted):
        raise EstimationError(
            offender, "configuration_id", configuration_id, "a prediction for each configuration"
        )


def score(predictions: Sequence[Prediction], truths: Iterable[Truth]) -> dict[str, object]:
    """All scores of one method, under the archive's key names; peaks in MiB.

    Args:
        predictions: of one method, one for each truth.
        truths: of resolved configurations only.

    Raises:
        EstimationError: predictions of two methods, or other configurations than the truths'.
    """
    methods = sorted({prediction.method for prediction in predictions})
    if len(methods) > 1:
        raise EstimationError("scores", "method", methods, "predictions of one method")
    known = known_truths(truths)
    check_coverage(predictions, known, f"predictions of {methods[0]}" if methods else "predictions")

    return score_cases(
        [case_of(prediction, known[prediction.configuration_id]) for prediction in predictions]
    )


def answers(cases: Iterable[Case]) -> dict[str, dict[str, int]]:
    """How many cases were approved, rejected and left undecided, each by what the target turned out to be."""
    counts = {answer: dict.fromkeys((label.value for label in Label), 0) for answer in ANSWERS}
    for case in cases:
        counts[answer_of(case.predicted_state)][case.truth.label.value] += 1
    return counts


def answer_of(state: Answer) -> str:
    """Which of `ANSWERS` a predicted label is."""
    if state is UNDECIDED:
        return "undecided"
    return "approved" if state.approves else "rejected"


def score_cases(cases: Sequence[Case], *, undecided_as_rejected: bool = False) -> dict[str, object]:
    """All scores of these cases, in any order, under the archive's key names; peaks in MiB.

    An undecided answer is neither an approval nor a rejection, and it is never right. The confusion matrix
    has a row for it where there is any.

    Args:
        undecided_as_rejected: count undecided as rejected, to compare with methods that can't say so. The
            result then says `undecided_counts_as`.
    """
    predicted_states: list[Answer] = list(Label)
    if any(case.predicted_state is UNDECIDED for case in cases):
        predicted_states.append(UNDECIDED)
    cells = {predicted: dict.fromkeys(Label, 0) for predicted in predicted_states}
    errors: list[float] = []
    for case in cases:
        cells[case.predicted_state][case.truth.label] += 1
        if case.truth.completed_peak_mib is not None and case.predicted_peak_mib is not None:
            errors.append(case.predicted_peak_mib - case.truth.completed_peak_mib)

    counts = count_scores(cells, undecided_as_rejected=undecided_as_rejected)
    rule = {"undecided_counts_as": "rejected"} if undecided_as_rejected else {}
    return {
        **rule,
        **counts,
        **_peak_errors(errors),
        "distinct_target_configurations": len({case.truth.configuration_id for case in cases}),
        "startup_guard_changed_states": sum(case.startup_guard_changed_state is True for case in cases),
    }


def count_scores(
    cells: Mapping[Answer, Mapping[Label, int]], *, undecided_as_rejected: bool = False
) -> dict[str, object]:
    """The scores that follow from counts alone: of each answer, by what the target turned out to be.

    ``cells`` has a row for each label, and one for undecided where there is any.
    """
    approved = cells[Label.WITHIN_MARGIN]
    queries = sum(sum(row.values()) for row in cells.values())
    approvals = sum(approved.values())
    targets = {label: sum(row[label] for row in cells.values()) for label in Label}
    correct = sum(cells[label][label] for label in Label)
    useful = approved[Label.WITHIN_MARGIN]
    undecided = cells[UNDECIDED][Label.WITHIN_MARGIN] if UNDECIDED in cells else 0
    rejected = targets[Label.WITHIN_MARGIN] - useful - (0 if undecided_as_rejected else undecided)
    return {
        "above_margin_among_approved": rate(approved[Label.ABOVE_MARGIN], approvals),
        "approval_rate_on_above_margin_targets": rate(
            approved[Label.ABOVE_MARGIN], targets[Label.ABOVE_MARGIN]
        ),
        "approval_rate_on_memory_failure_targets": rate(
            approved[Label.MEMORY_FAILURE], targets[Label.MEMORY_FAILURE]
        ),
        "approved": approvals,
        "approved_above_margin": approved[Label.ABOVE_MARGIN],
        "approved_memory_failure": approved[Label.MEMORY_FAILURE],
        "approved_within_margin": useful,
        "confusion_matrix_predicted_rows_observed_columns": {
            predicted.value: {observed.value: count for observed, count in row.items()}
            for predicted, row in cells.items()
        },
        "correct_three_state": correct,
        "memory_failure_among_approved": rate(approved[Label.MEMORY_FAILURE], approvals),
        "queries": queries,
        "rejected_within_margin": rejected,
        "rejection_rate_on_within_margin_targets": rate(rejected, targets[Label.WITHIN_MARGIN]),
        "target_above_margin": targets[Label.ABOVE_MARGIN],
        "target_memory_failure": targets[Label.MEMORY_FAILURE],
        "target_within_margin": targets[Label.WITHIN_MARGIN],
        "three_state_accuracy": rate(correct, queries),
        "within_margin_approval_precision": rate(useful, approvals),
        "within_margin_recall": rate(useful, targets[Label.WITHIN_MARGIN]),
    }


def _peak_errors(errors: Sequence[float]) -> dict[str, object]:
    """Errors are predicted less observed, MiB; an underestimate is what the prediction falls short by."""
    count = len(errors)
    return {
        "completed_peak_mae_mib": sum(map(abs, errors)) / count if count else None,
        "completed_peak_mean_signed_error_mib": sum(errors) / count if count else None,
        "completed_peak_prediction_coverage": count,
        "completed_peak_worst_underestimate_mib": max(0.0, -min(errors)) if count else None,
    }


def approvals(predictions: Sequence[Prediction], resolutions: Mapping[str, Resolution]) -> dict[str, object]:
    """Approvals of one method over the whole panel, the unscored ones in full, under the archive's keys.

    An approval is unscored while its configuration is unresolved. It is no success, and a failure or an
    exceedance that is already known of it is named.
    """
    approved = sorted(item.configuration_id for item in predictions if item.approves)
    unscored = [item for item in approved if is_unscored_approval(True, resolutions[item])]
    return {
        "full_panel_approved_configurations": len(approved),
        "full_panel_approved_ids": approved,
        "scored_approved_configurations": len(approved) - len(unscored),
        "unscored_approvals_with_known_failure": [
            item for item in unscored if resolutions[item].known_memory_failure
        ],
        "unscored_approvals_with_known_margin_exceedance": [
            item for item in unscored if resolutions[item].known_margin_exceedance
        ],
        "unscored_approved_configurations": len(unscored),
        "unscored_approved_ids": unscored,
    }
