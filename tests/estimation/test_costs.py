"""Costs stay in their scopes, and an unknown record is not a free one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.compare import compare
from studies.estimation.costs import (
    AllocationTime,
    InvocationTime,
    acquisition,
    panel_costs,
    source_cost,
    time_total,
)
from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label
from tests.estimation.facts import PANELS, PROSE
from tests.estimation.world import prediction, small_pool

SCOPES = (
    "task_provisioned_time",
    "invocation_reservation_time",
    "whole_allocation_time",
    "batch_step_time",
    "observed_allocation_time",
)


def number(cell):
    return None if cell in ("", None) else float(cell)


def published_costs(archive, panel):
    processes = archive[f"{panel}/results/processes.csv"]
    allocations = archive[f"{panel}/results/costs.json"]["allocations"]
    return panel_costs(
        [
            InvocationTime(number(row["task_gpu_seconds"]), number(row["invocation_reservation_gpu_seconds"]))
            for row in processes
        ],
        [
            AllocationTime(
                item["whole_allocation_gpu_seconds"],
                item["batch_step_gpu_seconds"],
                item["observed_allocation_gpu_seconds"],
            )
            for item in allocations
        ],
    )


@pytest.mark.parametrize("panel", PANELS)
def test_published_gpu_time(archive, panel):
    published = archive[f"{panel}/results/costs.json"]
    result = compare({scope: published[scope] for scope in SCOPES}, published_costs(archive, panel))
    assert result.passed, result.mismatches


def test_published_hours_of_the_follow_up(archive):
    """5.79 reserved and 4.89 task-provisioned GPU-hours in the study's design."""
    costs = published_costs(archive, "host_capacity")
    assert round(costs["whole_allocation_time"]["complete_total_gpu_seconds"] / 3600, 2) == 5.79
    assert round(costs["task_provisioned_time"]["complete_total_gpu_seconds"] / 3600, 2) == 4.89


def test_an_unfinished_record_leaves_the_total_open(archive):
    """One allocation of the original panel has no observed end."""
    observed = published_costs(archive, "estimation")["observed_allocation_time"]
    assert observed["complete_total_gpu_seconds"] is None
    assert (observed["known_records"], observed["unknown_records"]) == (17, 1)


@given(st.lists(st.none() | st.floats(0, 1e6)))
def test_a_total_is_complete_only_without_unknown_records(seconds):
    total = time_total(seconds, "task_provisioned_time")
    known = [value for value in seconds if value is not None]
    assert total["known_records"] + total["unknown_records"] == len(seconds)
    assert total["known_gpu_seconds"] == math.fsum(known)
    complete = bool(seconds) and None not in seconds
    assert total["complete_total_gpu_seconds"] == (math.fsum(known) if complete else None)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_time_that_cannot_be_is_refused(value):
    with pytest.raises(
        EstimationError, match=r"costs: batch_step_time is .*, expected a finite time of at least 0"
    ):
        time_total([1.0, value], "batch_step_time")


def test_scopes_are_never_added_up():
    costs = panel_costs([InvocationTime(2.0, 4.0)], [AllocationTime(5.0, 4.5, None)])
    assert tuple(costs) == SCOPES


def test_published_acquisition_cost(archive):
    """90 configurations, 270 processes, 308 attempts; donors 10, 30 and 34."""
    published = archive["estimation/fitted_model.json"]["source_cost"]
    donors = [
        prediction(
            item["configuration_id"],
            Label.WITHIN_MARGIN,
            donor_configuration_id=item["donor_configuration_id"],
        )
        for item in archive["estimation/predictions.json"]
        if item["method"] == "donor_copy"
    ]
    found = source_cost(archive.pool, donors)
    assert compare(published, found, ignore=PROSE).passed
    counts = ("configurations", "eligible_processes", "recorded_attempts")
    assert [found["full_permitted_fitting_pool"][key] for key in counts] == [90, 270, 308]
    assert [found["distinct_selected_donors"][key] for key in counts] == [10, 30, 34]


def test_a_donor_counts_once():
    pool = small_pool()
    first = pool.configuration_ids[0]
    twice = [prediction(name, Label.WITHIN_MARGIN, donor_configuration_id=first) for name in "ab"]
    assert source_cost(pool, twice)["distinct_selected_donors"] == acquisition(pool.restricted_to([first]))


def test_without_donors_nothing_was_selected():
    found = source_cost(small_pool(), [prediction("a", Label.WITHIN_MARGIN)])
    assert found["distinct_selected_donors"] == {
        "configuration_ids": [],
        "configurations": 0,
        "eligible_processes": 0,
        "recorded_attempts": 0,
    }


def test_a_donor_outside_the_pool_is_refused():
    stranger = prediction("a", Label.WITHIN_MARGIN, donor_configuration_id="cfg-none")
    with pytest.raises(
        EstimationError, match="donors: configuration_id is 'cfg-none', expected a configuration of"
    ):
        source_cost(small_pool(), [stranger])
