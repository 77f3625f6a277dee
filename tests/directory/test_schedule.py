"""The order of planned processes: complete, balanced, and the same again from the same seed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.directory.schedule import gpu_seconds, make_schedule
from studies.directory.study_file import ScheduleRule
from studies.estimation.errors import EstimationError
from tests.estimation.world import settings


def rule(**changes):
    return ScheduleRule(
        **{"order_seed": 7, "pair_by_gpu_count": False, "devices": 8, "timeout_seconds": 60} | changes
    )


def matrix(levels, counts):
    return [
        settings(configuration_id=f"{level}-{count}", configuration_level=level, gpu_count=count)
        for level in levels
        for count in counts
    ]


SEEDS = st.lists(st.integers(0, 10_000), min_size=1, max_size=6, unique=True)


@given(SEEDS, st.integers(0, 2**31 - 1), st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, unique=True))
def test_every_configuration_has_every_seed_once(seeds, order, counts):
    configurations = matrix(["a", "b"], counts)
    slots = make_schedule(configurations, seeds, rule(order_seed=order))
    assert {(slot.configuration, slot.seed) for slot in slots} == {
        (item.configuration_id, seed) for item in configurations for seed in seeds
    }
    assert len(slots) == len(configurations) * len(seeds)
    assert [slot.position for slot in slots] == list(range(len(slots)))
    gpus = {item.configuration_id: item.gpu_count for item in configurations}
    for slot in slots:
        assert len(set(slot.device_ordinals)) == gpus[slot.configuration]
        assert set(slot.device_ordinals) <= set(range(8))
        assert (slot.pair_id, slot.period) == ("", None)
    assert slots == make_schedule(configurations, seeds, rule(order_seed=order))


@given(SEEDS, st.integers(0, 2**31 - 1), st.sampled_from([(1, 8), (2, 4), (1, 2)]))
def test_pairs_follow_each_other_and_each_count_comes_first_equally_often(seeds, order, counts):
    slots = make_schedule(
        matrix(["a", "b", "c"], counts), seeds, rule(order_seed=order, pair_by_gpu_count=True)
    )
    first = Counter()
    for earlier, later in zip(slots[::2], slots[1::2], strict=True):
        assert earlier.pair_id == later.pair_id != ""
        assert (earlier.period, later.period, earlier.seed) == (1, 2, later.seed)
        first[earlier.configuration.rpartition("-")[2]] += 1
    few, many = first[str(counts[0])], first[str(counts[1])]
    assert abs(few - many) <= 1


def test_another_seed_gives_another_order():
    orders = {
        tuple(
            slot.experiment_id
            for slot in make_schedule(matrix("ab", [1, 2]), range(5), rule(order_seed=seed))
        )
        for seed in range(10)
    }
    assert len(orders) == 10


def test_a_configuration_larger_than_the_allocation_is_refused():
    with pytest.raises(EstimationError, match="gpu_count is 8, expected at most the allocation's 4"):
        make_schedule(matrix("a", [8]), [1], rule(devices=4))


@pytest.mark.parametrize("counts", [[2], [1, 2, 4]])
def test_a_pair_needs_two_gpu_counts(counts):
    with pytest.raises(EstimationError, match="because the schedule pairs by GPU count"):
        make_schedule(matrix("a", counts), [1], rule(pair_by_gpu_count=True))


def test_the_highest_cost_counts_every_gpu_until_the_time_out():
    slots = make_schedule(matrix("a", [1, 8]), [1, 2], rule())
    assert gpu_seconds(slots, {"a-1": 1, "a-8": 8}) == 2 * 60 * 9
    assert gpu_seconds(make_schedule(matrix("a", [1]), [1], rule(timeout_seconds=None)), {"a-1": 1}) is None
