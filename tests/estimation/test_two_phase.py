"""Two phases: published data give the design's figures, and the rule keeps its promises on made-up ones."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.development import development_rules
from studies.estimation.errors import EstimationError
from studies.estimation.folds import leave_family_out
from studies.estimation.labels import UNDECIDED, Label
from studies.estimation.methods import method_class
from studies.estimation.methods.two_phase import TwoPhase
from studies.estimation.pool import Pool
from studies.estimation.protocol import parse_rules
from tests.estimation.world import (
    CAPACITY,
    MARGIN,
    pool_configuration,
    protocol_document,
    rules,
    small_pool,
    target,
)

FIGURES = {
    "granite33": ((958.624, 1409.173, 1657.457), (3211.992, 3557.550, 3870.107)),
    "phi4": ((994.624, 2128.266, 2676.194), (3216.992, 3907.969, 5534.769)),
    "qwen25": ((980.373, 2128.266, 2676.194), (3568.907, 3870.107, 5115.169)),
}
"""Low, median and high end of a and b, MiB, recomputed from the archive."""


def method(quantile=0.05):
    return TwoPhase(CAPACITY, MARGIN, quantile)


def ends(constant):
    return constant.low, constant.median, constant.high


def fold_of(archive, family):
    return next(fold for fold in leave_family_out(archive.pool) if fold.family == family)


def answers(fold, quantile=0.05):
    fitted = method(quantile).fit(fold.fitting)
    predictions = fitted.predict([item.as_target() for item in fold.test])
    return fitted, Counter(
        (str(item.predicted_state), fold.test.by_id[item.configuration_id].label.value)
        for item in predictions
    )


@pytest.mark.parametrize("family", FIGURES)
def test_published_constants_of_each_fold(archive, family):
    fitted, _ = answers(fold_of(archive, family))
    rollout, sync = FIGURES[family]
    assert ends(fitted.rollout_) == pytest.approx(rollout, abs=5e-4)
    assert ends(fitted.sync_) == pytest.approx(sync, abs=1e-3)


@pytest.mark.parametrize(
    ("family", "useful", "undecided", "above", "failing"),
    [("granite33", 22, 0, 4, 4), ("phi4", 16, 0, 6, 8), ("qwen25", 20, 2, 0, 8)],
)
@pytest.mark.parametrize("quantile", [0.05, 0.1, 0.25])
def test_published_answers_of_each_fold(archive, family, useful, undecided, above, failing, quantile):
    _, found = answers(fold_of(archive, family), quantile)
    expected = {
        ("within_margin", "within_margin"): useful,
        ("undecided", "within_margin"): undecided,
        ("above_margin", "above_margin"): above,
        ("memory_failure", "memory_failure"): failing,
    }
    assert found["within_margin", "within_margin"] == useful
    assert found["undecided", "within_margin"] == undecided
    assert not [key for key in found if key[0] == "within_margin" and key[1] != "within_margin"]
    if quantile == 0.05:
        assert found == {key: number for key, number in expected.items() if number}


def test_with_all_residuals_the_interval_widens_and_still_errs_nowhere(archive):
    useful = {}
    for fold in leave_family_out(archive.pool):
        _, found = answers(fold, 0.0)
        useful[fold.family] = found["within_margin", "within_margin"]
        assert all(said == seen for said, seen in found if said != "undecided")
    assert (useful["phi4"], useful["qwen25"]) == (10, 16)


def test_the_two_undecided_to_the_mib(archive):
    fold = fold_of(archive, "qwen25")
    fitted, _ = answers(fold)
    found = [item for item in fitted.predict(fold.test.configurations) if item.undecided]
    assert {round(item.interval.low) for item in found} == {37_993}
    assert {round(item.interval.high) for item in found} == {39_688}
    targets = [fold.test.by_id[item.configuration_id] for item in found]
    assert {
        (item.settings.workload_id, item.settings.configuration_level, item.settings.gpu_count)
        for item in targets
    } == {("gsm8k", "c4", 4), ("math", "c4", 4)}
    assert sorted(item.completed_peak_mib for item in targets) == [37_976, 38_316]


def test_published_seven_billion_panel(archive):
    fitted = method().fit(archive.pool)
    assert ends(fitted.rollout_) == pytest.approx((965, 1564, 2637), abs=0.5)
    assert ends(fitted.sync_) == pytest.approx((3217, 3578, 4696), abs=0.5)
    said = {}
    for item, prediction in zip(archive.targets, fitted.predict(archive.targets), strict=True):
        place = item.settings.configuration_level, item.settings.gpu_count
        said.setdefault(place, set()).add(
            (prediction.predicted_state, round(prediction.interval.low), round(prediction.interval.high))
        )
    assert {(state, low) for place in (("c2", 2), ("c3", 2)) for state, low, _ in said[place]} == {
        (Label.MEMORY_FAILURE, 47_718),
        (Label.MEMORY_FAILURE, 48_628),
    }
    assert {(state, low) for state, low, _ in said["c3", 4]} == {(Label.MEMORY_FAILURE, 41_211)}
    assert said["c2", 4] == {(Label.ABOVE_MARGIN, 40_301, 41_780)}


def resident(name, peak, **changes):
    return pool_configuration(name, peak=peak, **changes)


def made_up(shift=0.0):
    """Resident peaks about 24,000 MiB and offloaded ones far above their rollout."""
    return Pool.of(
        [
            resident(f"cfg-{place}", 29_000.0 + 137.0 * place + shift, gpu_count=4) for place in range(5)
        ]
        + [
            resident(f"off-{place}", 31_000.0 + 91.0 * place + shift, parameter_offload=True, gpu_count=4)
            for place in range(4)
        ]
    )  # fmt: skip


@given(st.floats(-900, 900))
def test_adding_a_constant_to_every_peak_moves_the_interval_by_it(shift):
    wanted = [target(gpu_count=4), target("off", gpu_count=4, parameter_offload=True)]
    before, after = method().fit(made_up()).predict(wanted), method().fit(made_up(shift)).predict(wanted)
    for one, other in zip(before, after, strict=True):
        assert other.interval.low - one.interval.low == pytest.approx(shift, abs=1e-6)
        assert other.interval.high - one.interval.high == pytest.approx(shift, abs=1e-6)
        assert other.predicted_peak_mib - one.predicted_peak_mib == pytest.approx(shift, abs=1e-6)


@given(st.floats(0.05, 0.9), st.floats(0.05, 0.9), st.booleans(), st.booleans())
def test_more_reservation_never_lowers_a_peak(one, other, offload, free):
    fitted = method().fit(made_up())
    low, high = fitted.predict(
        [
            target(
                name,
                gpu_count=4,
                vllm_gpu_memory_utilization=share,
                parameter_offload=offload,
                free_cache_engine=free,
            )
            for name, share in (("low", min(one, other)), ("high", max(one, other)))
        ]
    )
    assert low.predicted_peak_mib <= high.predicted_peak_mib
    assert low.interval.high <= high.interval.high


@given(st.sampled_from([1, 2, 4]), st.floats(0.05, 0.9))
def test_offload_never_raises_the_rollout(gpus, share):
    fitted = method().fit(made_up())
    stays, offloaded = (
        fitted.phases(target(gpu_count=gpus, vllm_gpu_memory_utilization=share, parameter_offload=away))[0]
        for away in (False, True)
    )
    assert offloaded.base_mib <= stays.base_mib


def test_volumes_are_gib_and_constants_mib():
    """With numbers that are no powers of two a slip between 1,000 and 1,024 shows."""
    fitted = method(0.0).fit(
        Pool.of([pool_configuration("cfg", peak=31_000.0, gpu_count=4, vllm_gpu_memory_utilization=0.37)])
    )
    # 4 GiB elements in all: 4 bytes each over 4 GPUs is 4 GiB; the largest unit is half a GiB element, 2 GiB.
    assert fitted.rollout_.median == pytest.approx(31_000 - (0.37 * CAPACITY + 4 * 1024 + 2 * 1024))
    [found] = fitted.predict([target(gpu_count=4, vllm_gpu_memory_utilization=0.41)])
    assert found.predicted_peak_mib == pytest.approx(31_000 + 0.04 * CAPACITY)
    assert sum(part.gib for part in fitted.phases(target(gpu_count=4))[1].parts) == pytest.approx(4 + 2 * 8)


def test_without_an_offloaded_peak_the_second_phase_is_left_out_and_the_prediction_says_so():
    fitted = method().fit(Pool.of([pool_configuration("cfg", gpu_count=4)]))
    assert fitted.sync_ is None
    [found] = fitted.predict([target(gpu_count=4)])
    assert "weight sync is left out" in found.remark
    assert "left out" in " ".join(fitted.explain(target(gpu_count=4)).sentences)
    assert fitted.formula()[0].startswith("peak = rollout +")


def test_without_a_resident_peak_it_is_not_applicable():
    with pytest.raises(EstimationError, match="two_phase: completed configuration with resident parameters"):
        method().fit(Pool.of([pool_configuration("cfg", parameter_offload=True)]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"quantile": 0.5}, "two_phase.quantile is 0.5, expected a number from 0 to below one half"),
        ({"quantile": -0.1}, "two_phase.quantile is -0.1"),
        ({"quantile": "5%"}, "two_phase.quantile is '5%', expected a finite number"),
        ({}, "two_phase is {}, expected an object with quantile"),
        ("yes", "two_phase is 'yes', expected an object with quantile"),
    ],
)
def test_a_protocol_states_the_quantile(value, message):
    with pytest.raises(EstimationError, match=message):
        parse_rules(protocol_document(two_phase=value))


def test_a_recorded_fit_says_the_same_again():
    own = rules(two_phase={"quantile": 0.1})
    fitted = TwoPhase.from_rules(own).fit(small_pool())
    again = TwoPhase.restore(fitted.fitted_parameters(), own, small_pool())
    assert again.predict([target()]) == fitted.predict([target()])
    with pytest.raises(EstimationError, match=r"constants learned with quantile 0\.05"):
        TwoPhase.restore(fitted.fitted_parameters(), rules(two_phase={"quantile": 0.05}), small_pool())


def test_the_higher_phase_is_named_and_both_are_stacks():
    reasons = method().fit(made_up()).explain(target(gpu_count=4))
    assert [stack.title for stack in reasons.stacks] == ["rollout phase", "weight sync phase"]
    [verdict] = [stack.verdict for stack in reasons.stacks if stack.verdict]
    assert verdict in ("rollout decides", "weight sync decides")
    assert UNDECIDED not in list(Label)


def test_development_takes_the_value_it_was_developed_with():
    own = development_rules(rules(), method_class("two_phase"))
    assert dict(own.require_fitting().methods) == {"two_phase": {"quantile": 0.05}}
    with pytest.raises(EstimationError, match="a method in development"):
        development_rules(rules(two_phase={"quantile": 0.1}), method_class("two_phase"))
