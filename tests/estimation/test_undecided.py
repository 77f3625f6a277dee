"""An interval decides by margin and capacity; undecided is counted apart and never an outcome."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.coverage import coverage_curve, point_at
from studies.estimation.development import summary
from studies.estimation.errors import EstimationError
from studies.estimation.interval import Interval, spanned
from studies.estimation.labels import UNDECIDED, Label, parse_label
from studies.estimation.methods import Prediction
from studies.estimation.panel import panel_answers
from studies.estimation.scoring import Truth, answers, case_of, score, score_cases
from tests.estimation.world import CAPACITY, MARGIN, SILENT, prediction


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (30_000, MARGIN, Label.WITHIN_MARGIN),
        (30_000, MARGIN + 1, UNDECIDED),
        (MARGIN, MARGIN + 1, UNDECIDED),
        (MARGIN + 1, 50_000, Label.ABOVE_MARGIN),
        (CAPACITY, 50_000, Label.ABOVE_MARGIN),
        (CAPACITY + 1, 50_000, Label.MEMORY_FAILURE),
        (CAPACITY + 1, None, Label.MEMORY_FAILURE),
        (MARGIN + 1, None, Label.ABOVE_MARGIN),
        (30_000, None, UNDECIDED),
        (None, 30_000, Label.WITHIN_MARGIN),
        (None, 50_000, UNDECIDED),
    ],
)
def test_the_interval_decides(low, high, answer):
    assert Interval(low, high).answer(MARGIN, CAPACITY) is answer


@pytest.mark.parametrize("ends", [(2.0, 1.0), (None, None), (float("nan"), 1.0), (True, 2.0)])
def test_what_is_no_interval_is_refused(ends):
    with pytest.raises(EstimationError, match="interval"):
        Interval(*ends)


@given(st.lists(st.tuples(st.floats(1, 9), st.floats(0, 9)), min_size=1))
def test_a_span_holds_every_part(parts):
    intervals = [Interval(low, low + width) for low, width in parts]
    whole = spanned(intervals)
    assert all(whole.low <= item.low and item.high <= whole.high for item in intervals)


def test_undecided_is_no_outcome():
    with pytest.raises(EstimationError, match="only a prediction can be undecided"):
        parse_label("undecided", "cfg")
    with pytest.raises(EstimationError, match="only a prediction can be undecided"):
        Truth("cfg", "undecided", 30_000.0)


def test_a_prediction_with_an_interval_reads_back_and_one_without_keeps_its_form():
    plain = prediction("cfg", Label.WITHIN_MARGIN)
    assert set(plain.to_record()) == {
        "configuration_id", "donor_configuration_id", "donor_gpu_count_matches", "method",
        "peak_only_predicted_state", "predicted_peak_mib", "predicted_state", "startup_budget_diagnostic",
        "startup_guard_changed_state",
    }  # fmt: skip
    full = Prediction("cfg", "m", UNDECIDED, SILENT, 30.0, interval=Interval(1.0, None), remark="one only")
    for item in (plain, full):
        assert Prediction.from_record(item.to_record()) == item
    assert not full.approves
    assert full.undecided


def pairs():
    labels = (Label.WITHIN_MARGIN, Label.ABOVE_MARGIN, Label.MEMORY_FAILURE)
    peaks = {Label.WITHIN_MARGIN: 30_000.0, Label.ABOVE_MARGIN: 39_500.0, Label.MEMORY_FAILURE: None}
    for said in (*labels, UNDECIDED):
        for seen in labels:
            name = f"{said}-{seen}"
            yield prediction(name, said, "m"), Truth(name, seen, peaks[seen])


def test_each_answer_is_counted_by_what_the_target_turned_out_to_be():
    cases = [case_of(item, truth) for item, truth in pairs()]
    assert answers(cases) == {
        "approved": {"within_margin": 1, "above_margin": 1, "memory_failure": 1},
        "rejected": {"within_margin": 2, "above_margin": 2, "memory_failure": 2},
        "undecided": {"within_margin": 1, "above_margin": 1, "memory_failure": 1},
    }
    found = score_cases(cases)
    assert (found["correct_three_state"], found["three_state_accuracy"]) == (3, 0.25)
    assert (found["rejected_within_margin"], found["approved"]) == (2, 3)
    assert found["confusion_matrix_predicted_rows_observed_columns"]["undecided"]["within_margin"] == 1


def test_undecided_as_rejected_is_a_rule_that_says_so():
    cases = [case_of(item, truth) for item, truth in pairs()]
    found = score_cases(cases, undecided_as_rejected=True)
    assert (found["undecided_counts_as"], found["rejected_within_margin"]) == ("rejected", 3)
    assert found["correct_three_state"] == 3
    predictions, truths = zip(*pairs(), strict=True)
    known = {truth.configuration_id: truth for truth in truths}
    assert summary(predictions, known)["rejected_within_margin"] == 2
    compared = summary(predictions, known, undecided_as_rejected=True)
    assert (compared["rejected_within_margin"], compared["undecided_counts_as"]) == (3, "rejected")


def test_scores_without_undecided_keep_the_studys_keys():
    truth = Truth("cfg", Label.WITHIN_MARGIN, 30_000.0)
    found = score([prediction("cfg", Label.WITHIN_MARGIN)], [truth])
    assert "undecided_counts_as" not in found
    assert set(found["confusion_matrix_predicted_rows_observed_columns"]) == {label.value for label in Label}


def test_a_panel_counts_scored_and_unscored_apart(archive):
    resolutions = archive.resolutions("estimation")
    found = panel_answers([prediction(name, UNDECIDED, "m") for name in resolutions], resolutions)["m"]
    assert found["unscored"] == {"approved": 0, "rejected": 0, "undecided": 6}
    assert found["scored"]["undecided"] == {"within_margin": 0, "above_margin": 0, "memory_failure": 6}
    assert len(found["undecided_ids"]) == 12


@given(st.lists(st.tuples(st.floats(30_000, 45_000), st.floats(20_000, 40_000)), min_size=1, max_size=20))
def test_more_margin_never_approves_less(rows):
    found = [
        (
            prediction(f"cfg-{place}", Label.WITHIN_MARGIN, predicted_peak_mib=predicted),
            Truth(f"cfg-{place}", Label.WITHIN_MARGIN if seen <= MARGIN else Label.ABOVE_MARGIN, seen),
        )
        for place, (predicted, seen) in enumerate(rows)
    ]
    curve = coverage_curve(found)
    for one, other in pairwise(curve):
        assert one.margin_mib < other.margin_mib
        assert one.useful <= other.useful
        assert one.bad <= other.bad
    assert curve[-1].useful + curve[-1].bad == len(rows)
    assert point_at(found, 0.0) == type(curve[0])(0.0, 0, 0)


def test_a_method_without_peaks_has_one_point():
    truth = Truth("cfg", Label.WITHIN_MARGIN, 30_000.0)
    [point] = coverage_curve([(prediction("cfg", Label.WITHIN_MARGIN), truth)])
    assert (point.margin_mib, point.useful, point.bad) == (None, 1, 0)
