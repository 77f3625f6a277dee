"""Evaluating a prediction set on a panel: scores where a label exists, everything else beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Answer, Label, Resolution
from studies.estimation.methods.base import Prediction
from studies.estimation.scoring import (
    ANSWERS,
    Truth,
    answer_of,
    answers,
    approvals,
    case_of,
    check_coverage,
    count_scores,
    known_truths,
    rate,
    score,
)
from studies.estimation.volumes import StartupBasis, StartupBudget

METRIC_SCOPE = "resolved_subset_only"


def by_method(
    predictions: Sequence[Prediction], configuration_ids: Sequence[str]
) -> dict[str, list[Prediction]]:
    """Predictions grouped by method, each method covering each configuration once.

    Raises:
        EstimationError: no prediction at all, or a method that misses, repeats or invents a configuration.
    """
    groups: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        groups.setdefault(prediction.method, []).append(prediction)
    if not groups:
        raise EstimationError("prediction set", "predictions", 0, "at least one method's predictions")
    for method, group in groups.items():
        check_coverage(group, configuration_ids, f"predictions of {method}")
    return groups


def evaluate_panel(
    predictions: Sequence[Prediction], resolutions: Mapping[str, Resolution]
) -> dict[str, Any]:
    """Evaluate every method on one panel, under the archive's key names.

    Args:
        predictions: all methods' predictions for all planned configurations.
        resolutions: every planned configuration by id, unresolved ones included.

    Raises:
        EstimationError: incomplete coverage, with method and configuration named.
    """
    planned = sorted(resolutions)
    groups = by_method(predictions, planned)
    truths = resolved_truths(resolutions)
    resolved = [truth.configuration_id for truth in truths]
    unresolved = [item for item in planned if resolutions[item].label is None]
    return {
        "approvals": {method: approvals(group, resolutions) for method, group in groups.items()},
        "full_panel_coverage": rate(len(resolved), len(planned)),
        "metric_scope": METRIC_SCOPE,
        "planned_configurations": len(planned),
        "resolved_configurations": len(resolved),
        "resolved_ids": resolved,
        "resolved_subset_metrics": {
            method: score([item for item in group if item.configuration_id in resolved], truths)
            for method, group in groups.items()
        },
        "unresolved_configurations": len(unresolved),
        "unresolved_ids": unresolved,
    }


def panel_answers(
    predictions: Sequence[Prediction], resolutions: Mapping[str, Resolution]
) -> dict[str, dict[str, Any]]:
    """Each method's approvals, rejections and undecided ones, by what is known of the targets.

    Returns:
        by method: `scored`, counts by answer and observed label; `unscored`, counts by answer of the
        unresolved targets; `undecided_ids`.
    """
    truths = known_truths(resolved_truths(resolutions))
    result = {}
    for method, group in by_method(predictions, sorted(resolutions)).items():
        scored = [
            case_of(item, truths[item.configuration_id]) for item in group if item.configuration_id in truths
        ]
        unscored = Counter(
            answer_of(item.predicted_state) for item in group if item.configuration_id not in truths
        )
        result[method] = {
            "scored": answers(scored),
            "undecided_ids": sorted(item.configuration_id for item in group if item.undecided),
            "unscored": {answer: unscored[answer] for answer in ANSWERS},
        }
    return result


def resolved_truths(resolutions: Mapping[str, Resolution]) -> list[Truth]:
    """The truths of the resolved configurations, by id."""
    return [
        Truth.of_resolution(item, resolutions[item])
        for item in sorted(resolutions)
        if resolutions[item].label is not None
    ]


def single_label_rule(truths: Sequence[Truth]) -> dict[str, Any] | None:
    """The rule that always predicts the one label there is, scored; None when there are more labels or none.

    Where every resolved configuration failed, the rule that rejects everything is right every time. A
    method that does no better has shown nothing, so this stands beside the methods.

    Returns:
        `rule` (`always_failure`, or `always_` and the label), `label`, and `scores` as for a method.
    """
    labels = {truth.label for truth in truths}
    if len(labels) != 1:
        return None
    label = labels.pop()
    rule = single_label_name(label)
    silent = StartupBudget(StartupBasis.OFFLOADED_ACTOR, None, None)
    predictions = [Prediction(truth.configuration_id, rule, label, silent) for truth in truths]
    return {"rule": rule, "label": label.value, "scores": score(predictions, truths)}


def single_label_name(label: Label) -> str:
    """What the rule that always predicts this label is called."""
    return "always_failure" if label is Label.MEMORY_FAILURE else f"always_{label}"


def single_label_counts(labels: Mapping[Label, int]) -> dict[str, Any] | None:
    """``single_label_rule`` from how many resolved configurations have each label; scores that follow from
    counts alone."""
    found = [label for label, number in labels.items() if number]
    if len(found) != 1:
        return None
    [label] = found
    cells: dict[Answer, dict[Label, int]] = {answer: dict.fromkeys(Label, 0) for answer in Label}
    cells[label][label] = labels[label]
    return {"rule": single_label_name(label), "label": label.value, "scores": count_scores(cells)}
