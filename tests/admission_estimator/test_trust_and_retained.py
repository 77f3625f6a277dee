"""Where a profile is trusted, what happens beyond it, and when a retained part is believed."""

from __future__ import annotations

import dataclasses
import math

import pytest

from admission.estimator import Forward, InputError, Model, Observation, Profile, Track, parse_policy, price

from .worlds import QWEN_35B_A3B, TINY, measured, priced, profile, unshared


@pytest.mark.parametrize(("observed", "last"), [(27, 216), (6_273, 50_184)])
def test_the_trust_window_is_eight_times_the_observed_tokens(observed, last):
    # OpenPipe/ART #848, September 10 and 11
    seen = measured(observed, 10_000_000_000)
    inside, outside = (priced("base", unshared(n), seen) for n in (last, last + 1))
    assert inside.trust_window_tokens == last
    assert inside.trusted
    assert inside.decided_by == "profile"
    assert not outside.trusted
    assert outside.decided_by == "static"


def test_without_observations_a_forward_is_cold_and_keeps_all_it_needs():
    found = priced("base", unshared(1_000))
    assert not found.trusted
    assert found.trust_window_tokens == 0
    assert found.retained_share == 1.0
    assert found.ephemeral_bytes == 0


def test_without_packed_tokens_only_the_outputs_are_required():
    found = priced("fc1_fc2_stage", Forward(0, 10, 12_345), TINY)
    assert found.required_bytes == 12_345
    assert found.decided_by == "outputs"


def test_joint_observation_keeps_the_windows_end_as_a_floor():
    found = priced("joint_observation", unshared(20_000), TINY, measured(103_960, 103_960 * 50_000))
    assert found.decided_by == "window_floor"
    assert found.compute_bytes == int(17_549_478.666666668 * 216)


@pytest.mark.parametrize("policy", ["joint_observation", "normalised+joint_observation"])
def test_the_floor_beyond_a_window_does_not_depend_on_the_candidates_sharing(policy):
    # A floor with the candidate's ratio would fall as packed tokens grow: review of ef62e529, September 9.
    floors = [
        priced(policy, Forward(n, 160_000, 0), TINY).compute_bytes for n in (300, 1_000, 20_000, 60_000)
    ]
    assert floors == [int(17_549_478.666666668 * 216)] * 4


def test_joint_observation_still_holds_the_floor_when_every_window_is_passed():
    found = priced("joint_observation", unshared(217), TINY)
    assert not found.trusted
    assert found.decided_by == "window_floor"
    assert priced("base", unshared(217), TINY).decided_by == "static"


def test_seeing_the_same_twice_teaches_nothing_new():
    once = profile("joint", TINY)
    assert once.observe(TINY) == once


class TestRetainedGuard:
    """Witness of the September 9 reviews: 13 packed for 15 logical observed, then 104 for 960."""

    seen = measured(13, 1_000_000, logical=15, retained=500_000)
    witness = Forward(packed_tokens=104, logical_tokens=960, output_bytes=0)

    def test_equality_is_trusted_although_the_reciprocal_says_otherwise(self):
        assert 960 / (15 / 13 * 8) > 104
        assert priced("normalised", self.witness, self.seen).retained_observed

    @pytest.mark.parametrize(("towards", "trusted"), [(0.0, False), (math.inf, True)])
    def test_the_neighbouring_ratios_fall_on_either_side(self, towards, trusted):
        sharing = math.nextafter(15 / 13, towards)
        learned = Profile("independent_maxima", (Track(1.0, 13, sharing, 1.0),))
        found = price(QWEN_35B_A3B, self.witness, parse_policy("normalised"), learned)
        assert found.retained_observed is trusted

    def test_one_token_beyond_the_window_all_is_retained(self):
        found = priced("normalised", Forward(105, 960, 0), self.seen)
        assert not found.retained_observed
        assert found.retained_bytes == found.required_bytes


def test_nothing_retained_is_an_observation_too_and_leaves_the_outputs():
    found = priced("base", unshared(100, output_bytes=0), measured(100, 1_000, retained=0))
    assert found.retained_bytes == 0
    assert found.retained_share == 0.0
    with_outputs = priced("base", unshared(100, output_bytes=10_000), measured(100, 1_000, retained=0))
    assert with_outputs.retained_bytes == 11_000
    unmeasured = priced("base", unshared(100), measured(100, 1_000))
    assert unmeasured.retained_share == 1.0


def test_a_forward_never_retains_more_than_it_requires():
    found = priced("base", Forward(100, 800, 0), measured(100, 10**9, retained=10**9))
    assert found.retained_observed
    assert found.retained_bytes == found.required_bytes == 1_100_000_000


def test_outputs_never_enter_the_retained_rate():
    (track,) = profile("base", measured(100, 60_000, output=40_000, retained=30_000)).tracks
    assert track.retained_rate == 0.0
    (track,) = profile("base", measured(100, 60_000, output=40_000, retained=60_000)).tracks
    assert track.retained_rate == 200.0


def test_padding_is_not_taken_for_sharing():
    # Fewer logical than packed tokens: physical padding. The peer's profile keeps a ratio of at least 1.
    (track,) = profile("base", measured(16, 1_600, logical=10)).tracks
    assert track.sharing == 1.0


@pytest.mark.parametrize("policy", ["floor_beyond_window", "normalised+floor_beyond_window"])
def test_a_rate_stays_a_floor_beyond_its_window_and_is_still_untrusted(policy):
    seen = measured(100, 100 * 100_000)
    inside, outside = (priced(policy, unshared(n, 123), seen) for n in (800, 801))
    assert (inside.trusted, inside.decided_by) == (True, "profile")
    assert (outside.trusted, outside.decided_by) == (False, "beyond_window")
    assert outside.required_bytes == int((801 * 100_000 + 123) * 1.1)
    assert outside.retained_bytes == outside.required_bytes


def test_without_that_floor_one_token_more_is_priced_cold():
    seen = measured(100, 100 * 100_000)
    assert priced("normalised", unshared(801, 123), seen).decided_by == "static"


def test_floors_of_joint_observations_grow_on_if_the_policy_says_so():
    capped, growing = (priced(name, unshared(217), TINY) for name in ("joint", "joint+floor_beyond_window"))
    assert capped.learned.charge.tokens == 216
    assert growing.learned.charge.tokens == 217
    assert not growing.trusted


def test_the_older_multiplier_shows_in_the_working():
    found = priced("ratio", Forward(100, 800, 0), measured(100, 1_000_000_000))
    working = dict(found.working)
    assert working["learned rate"] == "int(10,000,000.0000 B/token × 100 × 8) = 8,000,000,000 B"


def test_the_normalised_form_has_no_step_at_a_rounding_point():
    # September 9: the earlier form gave 33,554,431,999 at 63,999 tokens and 33,554,432,000 on both sides
    seen = measured(64_000, 64_000 * 524_288)
    learned = [
        priced("normalised", Forward(n, 64_000, 0), seen).compute_bytes for n in (63_998, 63_999, 64_000)
    ]
    assert learned == [33_554_432_000] * 3
    assert int(524_288 * 63_999 * max(1, (64_000 / 63_999) / 1)) == 33_554_431_999


def test_a_profile_of_the_other_update_rule_is_refused():
    with pytest.raises(InputError, match=r"profile: found joint_observation; expected .*independent_maxima"):
        price(QWEN_35B_A3B, unshared(5), parse_policy("base"), profile("joint", TINY))


@pytest.mark.parametrize(
    "change",
    [
        {"tensor_parallel": 2},
        {"expert_parallel": 2},
        {"expert_parallel": 2, "expert_dispatch": "other"},
        {"expert_dispatch": "hybridep"},
        {"expert_dispatch": "hybridep", "expert_parallel": 2, "tensor_parallel": 2},
        {"expert_tensor_parallel": 2},
        {"dropless": False},
        {"experts_per_token": 0},
        {"element_bytes": 4, "dtype": "fp32"},
        {"element_bytes": 1, "dtype": "fp8"},
    ],
)
def test_outside_the_supported_geometry_no_expert_floor_applies(change):
    sizes = {"hidden_size": 2_048, "layers": 40, "element_bytes": 2, "experts_per_token": 8}
    found = price(Model(**{**sizes, **change}), unshared(1_000), parse_policy("fc1_fc2_stage"))
    assert found.moe_floor_bytes is None
    assert found.decided_by == "static"
    assert ("expert floor", "none: not a geometry that it was shown for") in found.working


FLOORS = {"moe2": 65_536, "moe3": 98_304, "fc2_stage": 106_496, "fc1_fc2_stage": 188_416}


@pytest.mark.parametrize(("policy", "each"), FLOORS.items())
@pytest.mark.parametrize("context_parallel", [1, 2])
def test_a_floor_is_so_many_bytes_for_each_packed_token(policy, each, context_parallel):
    model = dataclasses.replace(QWEN_35B_A3B, context_parallel=context_parallel)
    assert price(model, unshared(1_000), parse_policy(policy)).moe_floor_bytes == 1_000 * each


@pytest.mark.parametrize(("policy", "each"), FLOORS.items())
@pytest.mark.parametrize("ranks", [2, 4])
def test_hybridep_has_an_allowance_for_uneven_routing(policy, each, ranks):
    model = dataclasses.replace(QWEN_35B_A3B, expert_parallel=ranks, expert_dispatch="hybridep")
    assert price(model, unshared(1_000), parse_policy(policy)).moe_floor_bytes == 1_000 * each * 12 // 8


@pytest.mark.parametrize("policy", ["fc2_stage", "fc1_fc2_stage"])
def test_the_experts_width_is_asked_for_where_a_floor_counts_it(policy):
    model = dataclasses.replace(QWEN_35B_A3B, expert_intermediate_size=None)
    wanted = r"model.expert_intermediate_size: found nothing; expected a whole number from 1 to \d+"
    with pytest.raises(InputError, match=rf"{wanted} .*{policy} counts"):
        price(model, unshared(1_000), parse_policy(policy))


@pytest.mark.parametrize("policy", ["base", "ratio", "moe2", "moe3", "normalised+moe2+joint"])
def test_nobody_else_asks_for_the_experts_width(policy):
    model = dataclasses.replace(QWEN_35B_A3B, expert_intermediate_size=None)
    assert price(model, unshared(1_000), parse_policy(policy)).required_bytes


def test_a_dense_model_has_no_width_to_ask_for():
    model = dataclasses.replace(QWEN_35B_A3B, expert_intermediate_size=None, experts_per_token=0)
    assert price(model, unshared(1_000), parse_policy("fc2_stage")).moe_floor_bytes is None


@pytest.mark.parametrize(("layers", "factor"), [(1, 4), (3, 4), (4, 5), (40, 14), (48, 16), (400, 16)])
def test_the_activation_factor_grows_with_depth_between_4_and_16(layers, factor):
    assert Model(1, layers, 1, 0).activation_factor == factor


def test_outputs_larger_than_the_peak_leave_a_rate_of_zero():
    seen = Observation(10, 10, output_bytes=500, baseline_bytes=100, peak_bytes=200)
    assert profile("base", seen).tracks[0].rate == 0.0


def test_the_working_shows_the_numbers():
    working = dict(priced("base+moe2", unshared(216), TINY, usable=4_000_000_000).working)
    assert working["static compute"] == "216 × 2,048 × 2 × 14 = 12,386,304 B"
    assert working["expert floor"] == "216 × 65,536 B/token = 14,155,776 B"
    assert working["trust"] == "216 ≤ window of 216: trusted"
    assert working["learned rate"] == "int(17,549,478.6667 B/token × 216) = 3,790,687,392 B"
    assert working["decision"].startswith("4,169,757,081 > 4,000,000,000: refused")
    assert "max(static 12,386,304, expert floor 14,155,776, learned 3,790,687,392)" in working["required"]
