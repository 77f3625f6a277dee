"""Suites whose queries contradict each other are refused, with the offender named."""

from __future__ import annotations

import pytest

from studies.estimation.errors import EstimationError
from studies.transfer.suite import Measured, Query, Suite, Track
from tests.transfer.worlds import measured, small_suite


def refused(*extra: Query) -> str:
    suite = small_suite()
    with pytest.raises(EstimationError) as caught:
        Suite.of([*suite.queries, *extra], suite.configurations.values())
    return str(caught.value)


def test_a_query_given_twice():
    message = refused(Query("q-b0", "task-from-a", Track.MODEL, "a0", "b0"))
    assert message == "transfer suite: query_id is 'q-b0', expected each query once"


def test_a_query_about_an_unknown_configuration():
    message = refused(Query("q-x", "task-x", Track.MODEL, "a0", "x0"))
    assert message == "q-x: target is 'x0', expected a configuration of the pool"


def test_a_target_in_the_donors_own_case():
    message = refused(Query("q-x", "task-x", Track.MODEL, "a0", "a1"))
    assert message == "q-x: target case is 'case-a', expected another case than the donor's"


def test_a_task_with_two_donor_cases():
    message = refused(Query("q-x", "task-from-a", Track.MODEL, "h0", "a0"))
    assert message == "task-from-a: donor case is 'case-h', expected one case, case-a"


def test_a_task_in_two_tracks():
    message = refused(Query("q-x", "task-from-a", Track.WORKLOAD, "a0", "h0"))
    assert message == "task-from-a: track is 'workload_transfer', expected model_transfer as before"


def test_a_target_asked_for_twice_in_a_task():
    message = refused(Query("q-x", "task-from-a", Track.MODEL, "a1", "b0"))
    assert message == "task-from-a: target is 'b0', expected each target once in a task"


def test_a_configuration_whose_label_was_not_repeated():
    suite = small_suite()
    lone = measured("a0", "case-a")
    others = [item for name, item in suite.configurations.items() if name != "a0"]
    lone = Measured(lone.settings, {**lone.measurements, "observed_state": "not_repeated"})
    with pytest.raises(
        EstimationError, match="a0: observed_state is 'not_repeated', expected one of within_margin"
    ):
        Suite.of(suite.queries, [lone, *others])


def test_the_real_suite_has_the_published_size(suite):
    """Sizes from the suite's own description."""
    sizes = {
        track.value: (len(suite.tasks_of(track)), len(suite.queries_of(track))) for track in suite.tracks
    }
    assert sizes == {
        "model_transfer": (24, 144),
        "workload_transfer": (12, 216),
        "gpu_count_transfer": (12, 36),
        "horizon_transfer": (4, 4),
    }
    assert (len(suite.tasks), len(suite.queries)) == (52, 400)
    assert (len(suite.target_ids), len(suite.used_ids)) == (94, 98)
