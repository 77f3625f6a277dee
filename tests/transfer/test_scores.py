"""Scores: by task, by track and in total; what is null, what weighs the same, what is never added up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.labels import Label
from studies.estimation.scoring import rate
from studies.transfer.predictors import reference
from studies.transfer.scoring import COUNTS, score_suite
from studies.transfer.suite import Suite
from tests.transfer.worlds import predicted, small_suite, suites

PUBLISHED = {
    # queries, right, approved, useful, failing, above margin, usable rejected: the suite's own reference
    "model_transfer": (144, 112, 88, 80, 0, 8, 8),
    "workload_transfer": (216, 216, 132, 132, 0, 0, 0),
    "gpu_count_transfer": (36, 20, 26, 20, 2, 4, 6),
    "horizon_transfer": (4, 4, 3, 3, 0, 0, 0),
}
TOGETHER = (400, 352, 249, 235, 2, 12, 14)


def counts(scores) -> tuple[int, ...]:
    return tuple(scores[name] for name in COUNTS)


def test_the_reference_has_the_published_figures(suite):
    document = score_suite(suite, reference(suite), "all")
    assert {track: counts(scores) for track, scores in document["per_track"].items()} == PUBLISHED
    assert counts(document["overall"]) == TOGETHER
    assert len(document["per_task"]) == 52


def test_a_single_track_scores_as_it_does_among_all(suite):
    whole = score_suite(suite, reference(suite), "all")
    for track in PUBLISHED:
        alone = score_suite(suite, reference(suite, track), track)
        assert alone["per_track"] == {track: whole["per_track"][track]}


def test_the_mean_by_task_weights_tasks_equally():
    suite = small_suite()
    labels = {query.query_id: suite.configurations[query.target_id].label for query in suite.queries}
    labels["q-b0"] = labels["q-b1"] = Label.MEMORY_FAILURE
    track = score_suite(suite, labels, "all")["per_track"]["model_transfer"]
    assert track["macro_task_three_state_accuracy"] == 0.5
    assert track["three_state_accuracy"] == 0.5


def test_rates_without_a_denominator_are_null():
    suite = small_suite()
    labels = {query.query_id: Label.MEMORY_FAILURE for query in suite.queries_of("horizon_transfer")}
    scores = score_suite(suite, labels, "horizon_transfer")["overall"]
    assert scores["approved"] == 0
    assert scores["memory_failure_among_approved"] is None
    assert scores["approval_rate_on_above_margin_targets"] is None
    assert scores["three_state_accuracy"] == 0.0


def test_donors_are_counted_once_in_each_scope():
    document = score_suite(small_suite(), reference(small_suite()), "all")
    costs = {
        scope: (scores["distinct_source_configurations"], scores["recorded_source_attempts"])
        for scope, scores in {**document["per_track"], "overall": document["overall"]}.items()
    }
    # a0 is a donor in both tracks: one and three attempts of it are in each track, and in the total once.
    assert costs == {"model_transfer": (4, 12), "horizon_transfer": (1, 3), "overall": (4, 12)}


def test_the_real_donors_are_counted_once(suite):
    document = score_suite(suite, reference(suite), "all")
    assert document["overall"]["distinct_source_configurations"] == 94
    assert sum(track["distinct_source_configurations"] for track in document["per_track"].values()) == 184


@given(suite=suites(), data=st.data())
def test_scores_do_not_depend_on_the_order_of_rows_or_queries(suite, data):
    labels = data.draw(predicted(suite))
    shuffled = dict(data.draw(st.permutations(list(labels.items()))))
    reordered = Suite.of(data.draw(st.permutations(suite.queries)), suite.configurations.values())
    assert score_suite(reordered, shuffled, "all") == score_suite(suite, labels, "all")


@given(suite=suites(), data=st.data())
def test_counts_of_tasks_add_up_to_their_track_and_tracks_to_the_total(suite, data):
    document = score_suite(suite, data.draw(predicted(suite)), "all")
    for name in COUNTS:
        for track, scores in document["per_track"].items():
            own = [document["per_task"][task.task_id] for task in suite.tasks_of(track)]
            assert scores[name] == sum(task[name] for task in own)
        assert document["overall"][name] == sum(scores[name] for scores in document["per_track"].values())


@given(suite=suites(), data=st.data())
def test_approvals_split_into_useful_failed_and_above_margin(suite, data):
    scores = score_suite(suite, data.draw(predicted(suite)), "all")["overall"]
    parts = (
        scores["approved_within_margin"],
        scores["approved_memory_failure"],
        scores["approved_above_margin"],
    )
    assert scores["approved"] == sum(parts)
    assert scores["rejected_within_margin"] == scores["target_within_margin"] - parts[0]
    assert scores["memory_failure_among_approved"] == rate(parts[1], scores["approved"])


@given(suite=suites())
def test_the_reference_never_reads_a_targets_label(suite):
    for query, label in reference(suite).items():
        assert label is suite.configurations[suite.by_id[query].source_id].label


def test_a_prediction_of_the_truth_is_right_everywhere():
    suite = small_suite()
    labels = {query.query_id: suite.configurations[query.target_id].label for query in suite.queries}
    overall = score_suite(suite, labels, "all")["overall"]
    assert overall["three_state_accuracy"] == pytest.approx(1)
    assert (overall["approved_memory_failure"], overall["rejected_within_margin"]) == (0, 0)
