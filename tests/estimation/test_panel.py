"""Evaluating a panel reproduces what was published and pools nothing."""

import pytest

from studies.estimation.compare import compare
from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label, SlotOutcome, resolve
from studies.estimation.methods.base import Prediction
from studies.estimation.panel import evaluate_panel, resolved_truths, single_label_rule
from studies.estimation.scoring import Truth
from tests.estimation.facts import PANELS, PROSE
from tests.estimation.world import MARGIN, prediction


def sealed(archive, panel):
    return [Prediction.from_record(item) for item in archive[f"{panel}/predictions.json"]]


def evaluation(archive, panel):
    return evaluate_panel(sealed(archive, panel), archive.resolutions(panel))


@pytest.mark.parametrize("panel", PANELS)
def test_every_number_of_the_published_evaluation(archive, panel):
    published = archive[f"{panel}/results/evaluation.json"]
    result = compare(published, evaluation(archive, panel), ignore=PROSE)
    assert result.passed, result.mismatches


@pytest.mark.parametrize(
    ("panel", "method", "approved", "scored", "unscored", "known_failures"),
    [
        ("estimation", "donor_copy", 12, 6, 6, 3),
        ("estimation", "component_regression", 3, 0, 3, 0),
        ("estimation", "logistic", 0, 0, 0, 0),
        ("host_capacity", "donor_copy", 6, 3, 3, 0),
        ("host_capacity", "component_regression", 3, 0, 3, 0),
        ("host_capacity", "logistic", 0, 0, 0, 0),
    ],
)
def test_published_approvals(archive, panel, method, approved, scored, unscored, known_failures):
    """Figures of the study's design; each scored approval is wrong."""
    found = evaluation(archive, panel)
    counts = found["approvals"][method]
    assert counts["full_panel_approved_configurations"] == approved
    assert counts["scored_approved_configurations"] == scored
    assert counts["unscored_approved_configurations"] == unscored
    assert len(counts["unscored_approvals_with_known_failure"]) == known_failures
    assert found["resolved_subset_metrics"][method]["approved_within_margin"] == 0


@pytest.mark.parametrize(("panel", "resolved", "planned"), [("estimation", 6, 12), ("host_capacity", 3, 6)])
def test_published_coverage(archive, panel, resolved, planned):
    found = evaluation(archive, panel)
    assert (found["resolved_configurations"], found["planned_configurations"]) == (resolved, planned)
    assert found["full_panel_coverage"] == 0.5


@pytest.mark.parametrize(("panel", "resolved"), [("estimation", 6), ("host_capacity", 3)])
def test_always_failure_is_right_every_time_on_the_resolved_subset(archive, panel, resolved):
    rule = single_label_rule(resolved_truths(archive.resolutions(panel)))
    assert (rule["rule"], rule["label"]) == ("always_failure", "memory_failure")
    assert rule["scores"]["correct_three_state"] == resolved
    assert rule["scores"]["three_state_accuracy"] == 1.0
    assert rule["scores"]["approved"] == 0


def test_a_single_other_label_gets_its_own_constant_rule():
    rule = single_label_rule([Truth("a", Label.WITHIN_MARGIN, 30_000.0)])
    assert rule["rule"] == "always_within_margin"
    assert rule["scores"]["approved_within_margin"] == 1


def test_no_constant_rule_for_two_labels_or_none():
    assert single_label_rule([]) is None
    assert (
        single_label_rule([Truth("a", Label.WITHIN_MARGIN, 30_000.0), Truth("b", Label.MEMORY_FAILURE)])
        is None
    )


def panel_of(**states):
    kinds = {"failed": "memory_failure", "open": None}
    return {
        name: resolve([SlotOutcome(seed, kinds[state]) for seed in (1, 2, 3)], MARGIN)
        for name, state in states.items()
    }


def test_a_panel_without_any_resolved_configuration_has_no_score():
    found = evaluate_panel([prediction("a", Label.WITHIN_MARGIN)], panel_of(a="open"))
    assert found["full_panel_coverage"] == 0
    assert found["resolved_subset_metrics"]["donor_copy"]["three_state_accuracy"] is None
    assert found["approvals"]["donor_copy"]["unscored_approved_ids"] == ["a"]


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (
            "a",
            "predictions of donor_copy: configuration_id is 'b', expected a prediction for each",
        ),
        (
            "abc",
            "predictions of donor_copy: configuration_id is 'c', expected a configuration with a known truth",
        ),
        ("aab", "predictions of donor_copy: configuration_id is 'a', expected each configuration once"),
    ],
)
def test_incomplete_coverage_is_refused_even_for_unresolved_targets(predicted, message):
    with pytest.raises(EstimationError) as refusal:
        evaluate_panel(
            [prediction(name, Label.MEMORY_FAILURE) for name in predicted], panel_of(a="failed", b="open")
        )
    assert str(refusal.value).startswith(message)


def test_a_panel_without_predictions_is_refused():
    with pytest.raises(EstimationError, match="prediction set: predictions is 0, expected at least one"):
        evaluate_panel([], panel_of(a="open"))


@pytest.mark.parametrize("panel", PANELS)
def test_predictions_survive_their_records(archive, panel):
    published = archive[f"{panel}/predictions.json"]
    again = [item.to_record() for item in sealed(archive, panel)]
    assert compare(published, again, rtol=0, atol=0, ignore=PROSE).passed


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("predicted_state", "unresolved", "predicted_state is 'unresolved', expected one of within_margin"),
        ("predicted_state", "usable", "predicted_state is 'usable', expected one of within_margin"),
        ("predicted_peak_mib", float("nan"), "predicted_peak_mib is nan, expected a finite number"),
        ("predicted_peak_mib", "30000", "predicted_peak_mib is '30000', expected a finite number"),
        ("startup_guard_changed_state", "False", "expected true or false"),
        ("peak_only_predicted_state", "", "peak_only_predicted_state is '', expected one of"),
        ("donor_configuration_id", "", "donor_configuration_id is '', expected a text"),
        ("startup_budget_diagnostic", None, "startup_budget_diagnostic is None, expected an object"),
    ],
)
def test_a_damaged_prediction_is_refused(field, value, message):
    record = prediction("a", Label.WITHIN_MARGIN).to_record() | {field: value}
    with pytest.raises(EstimationError) as refusal:
        Prediction.from_record(record)
    assert str(refusal.value).startswith("prediction of donor_copy for a: ")
    assert message in str(refusal.value)


def test_a_prediction_without_a_field_is_refused():
    record = prediction("a", Label.WITHIN_MARGIN).to_record()
    del record["predicted_peak_mib"]
    with pytest.raises(
        EstimationError, match="predicted_peak_mib is None, expected the field in every prediction"
    ):
        Prediction.from_record(record)
