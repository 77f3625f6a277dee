"""The studies' methods inside single tasks, beside the reference."""

from __future__ import annotations

import pytest

from studies.services.transfer.results import registry_results
from studies.services.transfer.submissions import load_suite
from studies.transfer.suite import Track
from tests.factories import make_pool
from tests.transfer.conftest import HOME
from tests.transfer.test_scores import PUBLISHED, counts


@pytest.fixture
def results(pool):
    return {(item.method, item.track.value): item for item in registry_results(pool).results}


def test_donor_copy_agrees_with_the_reference_where_a_donor_is_permitted(results):
    for track in ("model_transfer", "gpu_count_transfer", "horizon_transfer"):
        assert counts(results["donor_copy", track].scores) == PUBLISHED[track]


def test_donor_copy_is_not_applicable_to_another_workload(results):
    found = results["donor_copy", "workload_transfer"]
    assert (found.applicable, found.scores) == (0, None)
    assert found.reasons == [("it finds no donor among what the task permits", 12)]


@pytest.mark.parametrize("method", ["component_regression", "logistic"])
def test_fitted_methods_run_only_where_donors_have_all_labels(method, results, suite):
    for track in Track:
        for run in results[method, track.value].runs:
            labels = {suite.configurations[name].label for name in run.task.source_ids}
            assert run.applicable == (len(labels) == 3)
    assert [results[method, track.value].applicable for track in Track] == [16, 8, 2, 0]


def test_a_method_stands_beside_the_reference_on_the_same_tasks(results):
    found = results["logistic", "model_transfer"]
    assert found.scores["queries"] == found.reference["queries"] == 96
    assert found.scores["tasks"] == found.reference["tasks"] == 16


def test_the_page_shows_what_is_not_applicable(client, pool):
    page = client.get(f"{HOME}methods/").content.decode()
    assert "not applicable: twelve tasks: it finds no donor among what the task permits" in page
    assert "donor copy in 40 of 52 tasks" in page
    assert "reference on these 16" in page


def test_without_a_study_that_fits_no_method_is_applicable(db):
    pool = make_pool()
    assert load_suite(pool).queries == ()
    assert registry_results(pool).study is None
    assert registry_results(pool).results == []
