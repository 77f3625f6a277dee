"""The flat tables read like the published ones, cell by cell."""

import csv
import io

import pytest

from studies.estimation.errors import EstimationError
from studies.estimation.labels import SlotOutcome, resolve
from studies.estimation.methods.base import Prediction
from studies.estimation.tables import PairedSlot, outcome_cells, pairs_of, prediction_cells
from tests.estimation.facts import PANELS, slot_of
from tests.estimation.world import MARGIN


def as_texts(table):
    """The table after a round trip through a CSV file."""
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, list(table[0]))
    writer.writeheader()
    writer.writerows(table)
    sheet.seek(0)
    return list(csv.DictReader(sheet))


def described(row):
    """A target's own columns, by the published table's names."""
    names = {"model": "model_id", "workload": "legacy_dataset_id"}
    return {
        name: row[names.get(name, name)]
        for name in ("configuration_id", "configuration_level", "gpu_count", "model", "workload")
    }


@pytest.mark.parametrize("panel", PANELS)
def test_published_configuration_table(archive, panel):
    predictions = [Prediction.from_record(item) for item in archive[f"{panel}/predictions.json"]]
    resolutions = archive.resolutions(panel)
    table = [
        described(row)
        | outcome_cells(resolution := resolutions[row["configuration_id"]])
        | {
            name: value
            for item in predictions
            if item.configuration_id == row["configuration_id"]
            for name, value in prediction_cells(
                item.method, item.predicted_state, item.predicted_peak_mib, resolution
            ).items()
        }
        for row in archive[f"{panel}/targets.csv"]
    ]
    table = [dict(sorted(row.items())) for row in table]
    published = archive[f"{panel}/results/configurations_flat.csv"]
    assert as_texts(table) == published
    assert list(table[0]) == list(published[0])


def paired(row):
    runtime = row["task_runtime_seconds"]
    return PairedSlot(
        pair_id=row["pair_id"],
        period=int(row["period"]),
        task_gpu_count=int(row["task_gpu_count"]),
        dataset=row["dataset"],
        configuration_level=row["configuration_level"],
        outcome=slot_of(row),
        task_runtime_seconds=float(runtime) if runtime else None,
    )


def pair_table(slots, margin):
    return [pair.to_record() for pair in pairs_of(slots, margin)]


@pytest.mark.parametrize(("panel", "pairs"), [("estimation", 18), ("host_capacity", 9)])
def test_published_pair_table(archive, panel, pairs):
    table = pair_table([paired(row) for row in archive[f"{panel}/results/processes.csv"]], MARGIN)
    published = archive[f"{panel}/results/pairs.csv"]
    assert as_texts(table) == published
    assert list(table[0]) == list(published[0])
    assert len(table) == pairs


def period(number, gpus, outcome, **changes):
    values = {
        "pair_id": "p",
        "dataset": "math",
        "configuration_level": "c2",
        "task_runtime_seconds": 100.0 * gpus,
    }
    return PairedSlot(period=number, task_gpu_count=gpus, outcome=outcome, **(values | changes))


def test_differences_need_two_completed_runs():
    done = [
        period(1, 4, SlotOutcome(1, "completed", 39_000.0)),
        period(2, 2, SlotOutcome(1, "completed", 38_000.0)),
    ]
    [row] = pair_table(done, MARGIN)
    assert (row["peak_difference_4_minus_2_mib"], row["runtime_difference_4_minus_2_seconds"]) == (
        1_000.0,
        200.0,
    )
    assert (row["four_gpu_state"], row["two_gpu_state"]) == ("above_margin", "within_margin")
    assert (row["both_completed"], row["both_eligible"], row["first_task_gpu_count"]) == (True, True, 4)


def test_a_failed_run_gives_no_difference():
    [row] = pair_table(
        [period(1, 2, SlotOutcome(1, "memory_failure")), period(2, 4, SlotOutcome(1, "completed", 38_000.0))],
        MARGIN,
    )
    assert row["peak_difference_4_minus_2_mib"] is None
    assert row["runtime_difference_4_minus_2_seconds"] is None
    assert (row["both_completed"], row["both_eligible"]) == (False, True)


def test_a_run_without_recorded_time_gives_no_difference_of_time():
    [row] = pair_table(
        [
            period(1, 2, SlotOutcome(1, "completed", 37_000.0), task_runtime_seconds=None),
            period(2, 4, SlotOutcome(1, "completed", 38_000.0)),
        ],
        MARGIN,
    )
    assert row["runtime_difference_4_minus_2_seconds"] is None
    assert row["peak_difference_4_minus_2_mib"] == 1_000.0


OPEN = SlotOutcome(1, None)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([period(1, 2, OPEN)], "pair p: task_gpu_count is [2], expected two different ones"),
        ([period(1, 2, OPEN), period(2, 2, OPEN)], "task_gpu_count is [2, 2], expected two different ones"),
        ([period(1, 2, OPEN), period(1, 4, OPEN)], "period is [1, 1], expected one 1 and one 2"),
        ([period(1, 2, OPEN), period(2, 4, SlotOutcome(2, None))], "expected the same in both periods"),
        ([period(1, 2, OPEN), period(2, 4, OPEN, dataset="gsm8k")], "expected the same in both periods"),
    ],
)
def test_slots_that_are_no_pair_are_refused(slots, message):
    with pytest.raises(EstimationError) as refusal:
        pair_table(slots, MARGIN)
    assert message in str(refusal.value)


def test_a_pair_of_one_and_eight_gpus_says_its_sizes():
    [row] = pair_table(
        [
            period(1, 8, SlotOutcome(1, "completed", 30_000.0)),
            period(2, 1, SlotOutcome(1, "completed", 38_000.0)),
        ],
        MARGIN,
    )
    assert (row["fewer_gpus"], row["more_gpus"], row["first_task_gpu_count"]) == (1, 8, 8)
    assert row["peak_difference_more_minus_fewer_mib"] == -8_000.0
    assert (row["fewer_gpu_state"], row["more_gpu_state"]) == ("within_margin", "within_margin")


def test_a_table_of_five_seeds_does_not_speak_of_three():
    cells = outcome_cells(resolve([SlotOutcome(seed, None) for seed in range(5)], MARGIN))
    assert (cells["required_seeds"], cells["all_seeds_eligible"]) == (5, False)
    assert "all_three_seeds_eligible" not in cells
