"""Exact difference: published data give the design's figures, and neighbours are moved by volumes only."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.folds import leave_family_out
from studies.estimation.labels import UNDECIDED, Label
from studies.estimation.methods.exact_difference import RULE, ExactDifference
from studies.estimation.pool import Pool
from studies.estimation.protocol import parse_rules
from tests.estimation.world import (
    CAPACITY,
    GIB,
    GRANITE,
    MARGIN,
    PHI,
    pool_configuration,
    protocol_document,
    target,
)


def fitted(*donors):
    return ExactDifference(CAPACITY, MARGIN).fit(Pool.of(donors))


def one(*donors, wanted=None):
    [found] = fitted(*donors).predict([wanted or target()])
    return found


@pytest.mark.parametrize(
    ("family", "useful", "undecided", "other_undecided"),
    [("granite33", 22, 0, 8), ("phi4", 16, 0, 0), ("qwen25", 19, 3, 8)],
)
def test_published_answers_of_each_fold(archive, family, useful, undecided, other_undecided):
    fold = next(fold for fold in leave_family_out(archive.pool) if fold.family == family)
    method = ExactDifference(CAPACITY, MARGIN).fit(fold.fitting)
    found = Counter(
        (str(item.predicted_state), fold.test.by_id[item.configuration_id].label.value)
        for item in method.predict([item.as_target() for item in fold.test])
    )
    assert found["within_margin", "within_margin"] == useful
    assert found["undecided", "within_margin"] == undecided
    assert found["undecided", "memory_failure"] + found["undecided", "above_margin"] == other_undecided
    assert not [key for key in found if key[0] != "undecided" and key[0] != key[1]]


def test_the_three_undecided_to_the_mib(archive):
    fold = next(fold for fold in leave_family_out(archive.pool) if fold.family == "qwen25")
    method = ExactDifference(CAPACITY, MARGIN).fit(fold.fitting)
    found = {
        (item.settings.workload_id, item.settings.configuration_level, item.settings.gpu_count): (
            round(prediction.interval.low),
            round(prediction.interval.high),
            item.completed_peak_mib,
        )
        for item, prediction in zip(fold.test, method.predict(fold.test.configurations), strict=True)
        if prediction.undecided and item.label is Label.WITHIN_MARGIN
    }
    assert found == {
        ("gsm8k", "c4", 4): (37_959, 39_076, 37_976),
        ("math", "c4", 4): (38_389, 39_484, 38_316),
        ("math", "c3", 2): (37_544, 40_588, 37_478),
    }


def test_published_seven_billion_panel(archive):
    method = ExactDifference(CAPACITY, MARGIN).fit(archive.pool)
    said = dict(zip(archive.targets, method.predict(archive.targets), strict=True))
    approved = [found for found in said.values() if found.approves]
    assert sorted((round(item.interval.low), round(item.interval.high)) for item in approved) == [
        (37_142, 38_327),
        (37_511, 38_735),
        (37_709, 38_685),
    ]
    assert {(item.settings.configuration_level, item.settings.gpu_count)
            for item, found in said.items() if found.approves} == {("c2", 4)}  # fmt: skip
    assert Counter(item.predicted_state for item in said.values()) == {
        Label.WITHIN_MARGIN: 3,
        Label.MEMORY_FAILURE: 9,
    }
    resolved = {name: item for name, item in archive.resolutions("estimation").items() if item.label}
    assert len(resolved) == 6
    for found in said.values():
        if found.configuration_id in resolved:
            assert found.predicted_state is resolved[found.configuration_id].label


PEAKS = st.lists(st.floats(20_000, 38_000), min_size=1, max_size=6)


def donors_of(peaks, failed=(), **changes):
    models = (GRANITE, PHI)
    return [
        pool_configuration(f"cfg-{place}", peak=peak, model_id=models[place % 2], elements=(2 + place) * GIB,
                           **changes)
        for place, peak in enumerate(peaks)
    ] + [
        pool_configuration(
            f"lost-{place}", Label.MEMORY_FAILURE, model_id=models[place % 2], elements=size * GIB
        )
        for place, size in enumerate(failed)
    ]  # fmt: skip


@given(PEAKS, st.floats(-800, 800))
def test_shifting_all_donors_moves_the_interval(peaks, shift):
    before, after = one(*donors_of(peaks)), one(*donors_of([peak + shift for peak in peaks]))
    assert after.interval.low - before.interval.low == pytest.approx(shift, abs=1e-6)
    assert after.interval.high - before.interval.high == pytest.approx(shift, abs=1e-6)


@given(PEAKS, st.lists(st.integers(1, 6), max_size=2))
def test_a_donor_more_never_narrows_it(peaks, failed):
    everything = donors_of(peaks, failed)
    inner, outer = one(*everything[:1]).interval, one(*everything).interval
    assert outer.low <= inner.low
    assert outer.high is None or (inner.high is not None and outer.high >= inner.high)


@given(PEAKS, st.lists(st.integers(1, 6), max_size=2), st.randoms())
def test_the_order_of_donors_decides_nothing(peaks, failed, random):
    donors = donors_of(peaks, failed)
    mixed = list(donors)
    random.shuffle(mixed)
    assert one(*donors) == one(*mixed)


@given(PEAKS, st.floats(25_000, 45_000), st.floats(25_000, 45_000))
def test_approval_is_monotone_in_the_margin(peaks, first, second):
    found = one(*donors_of(peaks))
    low, high = sorted((first, second))
    assert found.approves_at(high) or not found.approves_at(low)
    answers = [found.interval.answer(margin, 50_000) for margin in (low, high)]
    assert answers[1] is Label.WITHIN_MARGIN or answers[0] is not Label.WITHIN_MARGIN


@given(st.floats(20_000, 38_000))
def test_a_donor_with_the_targets_own_settings_gives_its_own_peak(peak):
    donor = pool_configuration("cfg", peak=peak)
    found = one(donor, wanted=donor.as_target())
    assert found.interval.low == found.interval.high == found.predicted_peak_mib == peak
    assert "spread is unknown" in found.remark


def test_the_difference_is_exact():
    """A share of 0.37 against 0.5 of 40,960 MiB, and shards of 8 GiB that are offloaded."""
    donor = pool_configuration("cfg", peak=30_000.0, vllm_gpu_memory_utilization=0.5)
    found = one(donor, wanted=target(vllm_gpu_memory_utilization=0.37, parameter_offload=True))
    assert found.interval.low == pytest.approx(30_000 + (0.37 - 0.5) * CAPACITY - 8 * 1024)


def test_the_same_gpu_count_comes_first_and_any_other_only_without_it():
    two, four = (
        pool_configuration("two", peak=30_000.0),
        pool_configuration("four", peak=20_000.0, gpu_count=4),
    )
    assert one(two, four).interval == one(two).interval
    assert one(four).interval.low == pytest.approx(20_000 + 4 * 1024)


def test_failed_donors_leave_the_upper_end_open():
    lost = pool_configuration("lost", Label.MEMORY_FAILURE)
    found = one(pool_configuration("cfg", peak=30_000.0), lost)
    assert (found.interval.low, found.interval.high, found.predicted_peak_mib) == (30_000, None, None)
    assert found.predicted_state is UNDECIDED
    reasons = fitted(lost).explain(target())
    assert [item.at_least for item in reasons.neighbours] == [True]


def test_without_a_neighbour_it_says_which_is_missing():
    with pytest.raises(
        EstimationError, match="donor is None, expected a fitting configuration with workload"
    ):
        one(pool_configuration("cfg", configuration_level="c9"))


def test_a_protocol_calls_for_it_by_one_word():
    assert (
        "exact_difference" in parse_rules(protocol_document(exact_difference=RULE)).require_fitting().methods
    )
    with pytest.raises(EstimationError, match=f"exact_difference is 'yes', expected {RULE}"):
        parse_rules(protocol_document(exact_difference="yes"))
