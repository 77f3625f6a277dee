"""Scores keep their identities, and a rate without a denominator is null."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label, SlotOutcome, resolve
from studies.estimation.scoring import Truth, approvals, score
from tests.estimation.world import MARGIN, prediction

labels = st.sampled_from(list(Label))
peak_or_none = st.none() | st.floats(1, 60_000)
rows = st.lists(st.tuples(labels, labels, peak_or_none, st.floats(1, MARGIN)), max_size=12)

RATES = {
    "above_margin_among_approved": ("approved_above_margin", "approved"),
    "memory_failure_among_approved": ("approved_memory_failure", "approved"),
    "within_margin_approval_precision": ("approved_within_margin", "approved"),
    "approval_rate_on_above_margin_targets": ("approved_above_margin", "target_above_margin"),
    "approval_rate_on_memory_failure_targets": ("approved_memory_failure", "target_memory_failure"),
    "within_margin_recall": ("approved_within_margin", "target_within_margin"),
    "rejection_rate_on_within_margin_targets": ("rejected_within_margin", "target_within_margin"),
    "three_state_accuracy": ("correct_three_state", "queries"),
}
PEAK_ERRORS = (
    "completed_peak_mae_mib",
    "completed_peak_mean_signed_error_mib",
    "completed_peak_worst_underestimate_mib",
)


def made(found):
    predictions = [
        prediction(f"cfg-{place:02}", predicted, predicted_peak_mib=peak)
        for place, (predicted, _, peak, _) in enumerate(found)
    ]
    truths = [
        Truth(f"cfg-{place:02}", observed, None if observed is Label.MEMORY_FAILURE else peak)
        for place, (_, observed, _, peak) in enumerate(found)
    ]
    return predictions, truths


@given(rows)
def test_counts_are_sums_of_cells(found):
    scores = score(*made(found))
    cells = scores["confusion_matrix_predicted_rows_observed_columns"]
    assert sum(count for row in cells.values() for count in row.values()) == scores["queries"] == len(found)
    assert scores["approved"] == sum(cells["within_margin"].values())
    assert scores["approved"] == (
        scores["approved_within_margin"] + scores["approved_above_margin"] + scores["approved_memory_failure"]
    )
    assert scores["correct_three_state"] == sum(cells[label][label] for label in Label)
    for label in Label:
        assert scores[f"target_{label}"] == sum(row[label] for row in cells.values())
    assert (
        scores["rejected_within_margin"] + scores["approved_within_margin"] == scores["target_within_margin"]
    )
    assert scores["distinct_target_configurations"] == len(found)


@given(rows)
def test_each_rate_is_its_quotient_or_null(found):
    scores = score(*made(found))
    for name, (part, whole) in RATES.items():
        expected = scores[part] / scores[whole] if scores[whole] else None
        assert scores[name] == expected


@given(rows, st.randoms(use_true_random=False))
def test_order_does_not_matter(found, random):
    predictions, truths = made(found)
    before = score(predictions, truths)
    random.shuffle(predictions)
    random.shuffle(truths)
    after = score(predictions, truths)
    assert {key: value for key, value in after.items() if key not in PEAK_ERRORS} == {
        key: value for key, value in before.items() if key not in PEAK_ERRORS
    }
    for key in PEAK_ERRORS:
        assert after[key] == (None if before[key] is None else pytest.approx(before[key], abs=1e-6))


@given(rows)
def test_peak_errors_cover_only_completed_targets_with_a_predicted_peak(found):
    scores = score(*made(found))
    errors = [
        guess - seen
        for _, observed, guess, seen in found
        if guess is not None and observed is not Label.MEMORY_FAILURE
    ]
    assert scores["completed_peak_prediction_coverage"] == len(errors)
    if not errors:
        assert [scores[key] for key in PEAK_ERRORS] == [None, None, None]
        return
    assert scores["completed_peak_mae_mib"] == pytest.approx(sum(map(abs, errors)) / len(errors))
    assert scores["completed_peak_mean_signed_error_mib"] == pytest.approx(sum(errors) / len(errors))
    assert scores["completed_peak_worst_underestimate_mib"] == max(0, *(-error for error in errors))
    assert abs(scores["completed_peak_mean_signed_error_mib"]) <= scores["completed_peak_mae_mib"] + 1e-9


def test_nothing_to_score_gives_nulls_and_zero_counts():
    scores = score([], [])
    assert all(scores[name] is None for name in (*RATES, *PEAK_ERRORS))
    assert scores["queries"] == scores["approved"] == 0


def test_guard_changes_are_counted():
    predictions = [
        prediction("a", Label.MEMORY_FAILURE, startup_guard_changed_state=True),
        prediction("b", Label.MEMORY_FAILURE, startup_guard_changed_state=False),
        prediction("c", Label.MEMORY_FAILURE),
    ]
    truths = [Truth(name, Label.MEMORY_FAILURE) for name in "abc"]
    assert score(predictions, truths)["startup_guard_changed_states"] == 1


def test_an_unresolved_configuration_is_refused_as_truth():
    unresolved = resolve(
        [SlotOutcome(1, None), SlotOutcome(2, None), SlotOutcome(3, "memory_failure")], MARGIN
    )
    with pytest.raises(EstimationError, match=r"cfg-x: label is None, expected one of .*unresolved"):
        Truth.of_resolution("cfg-x", unresolved)


@pytest.mark.parametrize("label", ["unresolved", "crashed", None])
def test_a_fourth_outcome_label_is_refused(label):
    with pytest.raises(
        EstimationError, match=r"cfg-x: label is .*, expected one of within_margin, above_margin"
    ):
        Truth("cfg-x", label)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (("cfg-x", Label.MEMORY_FAILURE, 40_960.0), "expected no peak for a memory failure"),
        (("cfg-x", Label.WITHIN_MARGIN, None), "expected a finite peak above zero"),
        (("cfg-x", Label.ABOVE_MARGIN, 0.0), "expected a finite peak above zero"),
    ],
)
def test_a_truth_with_an_imputed_peak_is_refused(truth, message):
    with pytest.raises(EstimationError, match=message):
        Truth(*truth)


FAILED = [Truth("a", Label.MEMORY_FAILURE), Truth("b", Label.MEMORY_FAILURE)]


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (
            "a",
            "predictions of donor_copy: configuration_id is 'b', expected a prediction for each",
        ),
        ("aab", "predictions of donor_copy: configuration_id is 'a', expected each configuration once"),
        (
            "abc",
            "predictions of donor_copy: configuration_id is 'c', expected a configuration with a known truth",
        ),
    ],
)
def test_coverage_must_be_exact(predicted, message):
    with pytest.raises(EstimationError) as refusal:
        score([prediction(name, Label.MEMORY_FAILURE) for name in predicted], FAILED)
    assert str(refusal.value).startswith(message)


def test_a_truth_given_twice_is_refused():
    with pytest.raises(
        EstimationError, match="truths: configuration_id is 'a', expected each configuration once"
    ):
        score([prediction("a", Label.MEMORY_FAILURE)], [FAILED[0], FAILED[0]])


def test_methods_are_scored_apart():
    mixed = [prediction("a", Label.MEMORY_FAILURE), prediction("b", Label.MEMORY_FAILURE, method="logistic")]
    with pytest.raises(
        EstimationError, match=r"method is \['donor_copy', 'logistic'\], expected predictions of one"
    ):
        score(mixed, FAILED)


panels = st.lists(
    st.tuples(
        labels,
        st.lists(st.sampled_from([None, "memory_failure", 30_000.0, 39_500.0]), min_size=3, max_size=3),
    ),
    min_size=1,
    max_size=8,
)


@given(panels)
def test_an_unscored_approval_is_neither_a_success_nor_dropped(found):
    resolutions, predictions = {}, []
    for place, (predicted, outcomes) in enumerate(found):
        name = f"cfg-{place}"
        slots = [
            SlotOutcome(seed, "completed", outcome)
            if isinstance(outcome, float)
            else SlotOutcome(seed, outcome)
            for seed, outcome in enumerate(outcomes)
        ]
        resolutions[name] = resolve(slots, MARGIN)
        predictions.append(prediction(name, predicted))
    counted = approvals(predictions, resolutions)
    approved = {item.configuration_id for item in predictions if item.approves}
    assert set(counted["full_panel_approved_ids"]) == approved
    assert counted["full_panel_approved_configurations"] == (
        counted["scored_approved_configurations"] + counted["unscored_approved_configurations"]
    )
    unscored = set(counted["unscored_approved_ids"])
    assert unscored == {name for name in approved if resolutions[name].label is None}
    assert set(counted["unscored_approvals_with_known_failure"]) == {
        name for name in unscored if resolutions[name].known_memory_failure
    }
    assert set(counted["unscored_approvals_with_known_margin_exceedance"]) == {
        name for name in unscored if resolutions[name].known_margin_exceedance
    }
