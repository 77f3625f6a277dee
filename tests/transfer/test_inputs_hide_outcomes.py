"""What a predictor is given holds nothing of what was measured of its targets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.archive.columns import CONFIGURATIONS, OUTCOMES
from studies.estimation.errors import EstimationError
from studies.transfer.inputs import inputs_document, task_document, task_input
from studies.transfer.suite import Measured, Suite, Track
from tests.transfer.worlds import LABELS, measured, small_suite, suites


@given(suite=suites(), data=st.data())
def test_a_tasks_input_is_the_same_whatever_was_measured_outside_its_donors(suite, data):
    task = data.draw(st.sampled_from(list(suite.tasks.values())))
    other = {}
    for name, item in suite.configurations.items():
        if name in task.source_ids:
            other[name] = item
        else:
            label = data.draw(st.sampled_from(LABELS))
            redrawn = measured(name, item.case_id, label, peak=data.draw(st.floats(1, 90000)), attempts=99)
            other[name] = Measured(item.settings, redrawn.measurements)
    changed = Suite.of(suite.queries, other.values())
    assert task_input(changed, changed.task(task.task_id)) == task_input(suite, task)


@given(suite=suites())
def test_no_measured_value_of_a_target_stands_in_its_task(suite):
    for task in suite.tasks.values():
        text = json.dumps(task_input(suite, task))
        for query in task.queries:
            peak = suite.configurations[query.target_id].measurements["max_completed_run_peak_mib"]
            assert peak is None or str(peak) not in text


@given(suite=suites())
def test_a_target_has_settings_and_no_measured_column(suite):
    for task in suite.tasks.values():
        for target in task_input(suite, task)["targets"]:
            assert set(target) == {"query_id", "matched_source_configuration_id", "settings"}
            assert set(OUTCOMES) & set(target["settings"]) == {"configuration_id"}


@given(suite=suites())
def test_a_task_in_a_tracks_file_is_the_same_as_alone(suite):
    for track in suite.tracks:
        for task in inputs_document(suite, track)["tasks"]:
            assert task_document(suite, task["task_id"])["tasks"] == [task]


def test_a_track_that_does_not_exist():
    with pytest.raises(EstimationError, match="track is 'size_transfer', expected one of model_transfer, "):
        inputs_document(small_suite(), "size_transfer")


def test_the_real_inputs_name_every_setting_and_measure_donors_only(suite):
    document = inputs_document(suite, "all")
    assert len(document["tasks"]) == 52
    for task in document["tasks"]:
        donors = [source["settings"]["configuration_id"] for source in task["source"]]
        assert [source["measurements"]["configuration_id"] for source in task["source"]] == donors
        for target in task["targets"]:
            assert tuple(target["settings"]) == CONFIGURATIONS
            assert target["settings"]["configuration_id"] not in donors
            assert target["matched_source_configuration_id"] in donors


def test_each_real_donor_has_its_label_its_peaks_and_its_counts(suite):
    task = inputs_document(suite, Track.HORIZON)["tasks"][0]
    assert tuple(task["source"][0]["measurements"]) == OUTCOMES
    assert task["source"][0]["measurements"]["eligible_processes"] == 3
