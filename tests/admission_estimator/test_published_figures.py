"""Byte figures printed in the public thread OpenPipe/ART #848, reproduced exactly.

Each test names the report the figure stands in. The model is Qwen3.5/3.6-35B-A3B.
"""

from __future__ import annotations

import pytest

from admission.estimator import (
    QWEN_35B_A3B,
    SHAPES,
    Forward,
    Model,
    Subforward,
    compare,
    gib,
    parse_policy,
    price,
    price_split,
)
from admission.estimator.pricing import moe_floor_bytes

from .worlds import TINY, measured, priced, profile, unshared


@pytest.mark.parametrize(
    ("policy", "figure"),
    [
        ("base", 6_713_560_268),  # September 9, output-envelope candidate: requirement before
        ("base+moe2", 7_672_640_307),  # the same report: requirement after
        ("base+moe3", 11_508_960_460),  # note 1 of the review of that candidate: three live buffers
        ("fc2_stage", 12_468_040_499),  # the four buffers of #891 at the same shape
        ("fc1_fc2_stage", 22_058_840_883),  # the seven of #893
    ],
)
def test_original_g16_is_priced_to_the_byte(policy, figure):
    assert priced(policy, unshared(106_432, output_bytes=0)).required_bytes == figure


def test_one_expert_output_of_g16_is_the_size_of_the_failed_request():
    # September 9, source investigation: 3.248 GiB beside the reported request of 3.25 GiB
    two = moe_floor_bytes(QWEN_35B_A3B, 106_432, parse_policy("moe2"))
    assert two is not None
    assert two / 2 / 2**30 == 3.248046875


def test_the_expert_floor_would_not_have_changed_the_post_save_admission():
    # September 9, source investigation: negative control
    floor = priced("base+moe2", Forward(495_955, 1_052_548, 0), usable=68_787_071_693)
    assert floor.required_bytes == 35_753_197_568
    assert floor.required_bytes < 66_302_838_756
    assert floor.decision == "admitted"


def test_the_first_perplexity_call_teaches_its_rate():
    # September 10, perplexity scoring
    (track,) = profile("base", TINY).tracks
    assert round(track.rate, 4) == 17_549_478.6667
    assert track.rate == 17_549_478.666666668


@pytest.mark.parametrize(
    ("tokens", "figure", "shown"),
    [(17_063, 329_391_505_015, "306.770"), (21_489, 414_832_916_326, "386.343")],
)
def test_the_next_perplexity_inputs_are_priced_at_the_tiny_calls_rate(tokens, figure, shown):
    # September 10, perplexity scoring: 306.770-386.343 GiB against 68.423 GiB usable
    long = measured(6_273, 1_000_000_000)
    refused = priced("base", unshared(tokens), TINY, long, usable=73_468_636_823)
    assert refused.required_bytes == figure
    assert gib(refused.required_bytes) == shown
    assert refused.trusted
    assert refused.decision == "refused"


@pytest.mark.parametrize("policy", ["base", "normalised"])
def test_twenty_thousand_tokens_after_a_tiny_and_a_long_call(policy):
    # September 11, native CPU regression, either order, and the control with the long call alone
    long = measured(103_960, 103_960 * 50_000)
    assert priced(policy, unshared(20_000), TINY, long).required_bytes == 386_088_618_666
    assert priced(policy, unshared(20_000), long, TINY).required_bytes == 386_088_618_666
    assert priced(policy, unshared(20_000), long).required_bytes == 1_261_656_000


def test_an_unrelated_observation_with_more_sharing_lowers_an_established_price():
    # September 11, bounded investigation: 87,996,920 -> 11,000,000; the shape is worked out from the totals
    query = Forward(packed_tokens=100, logical_tokens=800, output_bytes=400)
    first = measured(100, 9_999_600)
    shared = measured(100, 1_000, logical=800)
    assert priced("normalised", query, first).required_bytes == 87_996_920
    assert priced("normalised", query, first, shared).required_bytes == 11_000_000
    assert priced("normalised+joint", query, first, shared).required_bytes == 87_996_920


def test_a_retained_observation_is_priced_with_the_safety_factor():
    # September 10, mixed-gradient audit: 286,976 B live, priced 315,673 B for both plans of 2,112 tokens
    seen = measured(2_112, 300_000, output=8_448, retained=286_976)
    found = priced("base", unshared(2_112), seen)
    assert found.retained_bytes == 315_673
    assert found.retained_observed


def test_the_pressured_cold_admission_counts_one_hidden_row_per_logical_token():
    # September 12: 4,092,810,444 required of 4,652,784,333 available, refused by both later corrections. The
    # increment retained of the run was 11,445,665,280 B, above either price.
    (shape,) = (shape for shape in SHAPES if shape.name == "pressured-cold")
    assert shape.forward.output_bytes == shape.forward.logical_tokens * 2_048 * 2
    policies = [parse_policy(name) for name in ("moe2", "fc2_stage", "fc1_fc2_stage")]
    found = compare(shape.model, shape.forward, policies, usable=shape.usable_bytes)
    assert [(price.required_bytes, price.decision) for price in found] == [
        (4_092_810_444, "admitted"),
        (6_164_530_380, "refused"),
        (10_307_970_252, "refused"),
    ]
    assert found[-1].moe_floor_bytes == 8_663_556_096
    assert found[-1].required_bytes < 11_445_665_280


G4X4 = measured(73_696, 129_300_000_000 - 70_000_000_000)
"""September 4: 73,696 unshared tokens peaked at 129.3 GB; the report puts the weights before it at 70 GB."""


def test_one_observation_of_129_gb_refuses_everything_down_to_21_487_packed_tokens():
    # September 7: the warm estimates from 73,696 to 21,487 packed tokens are equal, from the logical/packed
    # multiplier. What was usable isn't stated, so: whatever refuses the first layout refuses every other.
    first = priced("ratio", unshared(73_696, 0), G4X4).required_bytes
    assert first == 65_230_000_000
    for packed in range(21_487, 73_697, 173):
        found = priced("ratio", Forward(packed, 73_696, 0), G4X4, usable=first - 3)
        assert abs(found.required_bytes - first) <= 2  # the older form rounds
        assert (found.trusted, found.decision) == (True, "refused")


def test_without_the_multiplier_the_same_observation_admits_the_shared_layout_at_19_gb():
    found = priced("base", Forward(21_487, 73_696, 0), G4X4, usable=65_000_000_000)
    assert (found.required_bytes, found.decision) == (19_018_630_725, "admitted")


REVIEW_MODEL = Model(hidden_size=4_096, layers=48, element_bytes=2, experts_per_token=0)


def review_rung(packed: int, policy: str, *seen):
    part = Subforward(Forward(packed, 32_000, 128_000), full_sharing_tokens=16_000)
    learned = profile(policy, *seen)
    return price_split(
        REVIEW_MODEL, [part, part], parse_policy(policy), 10 * 2**30, profile_of=lambda _: learned
    )


@pytest.mark.parametrize("policy", ["base", "normalised", "base+joint", "normalised+joint"])
def test_the_rung_of_the_profile_floor_review_is_found(policy):
    # September 9, review of ef62e529: exact 9,227,750,400 of 10,737,418,240; a floor that carried the ratio
    # of the candidate bounded the same rung at 18,455,219,200 and lost it
    assert price(REVIEW_MODEL, unshared(1, 0), parse_policy("base")).static_compute_bytes == 131_072
    seen = measured(1_000, 1_000 * 4 * 131_072)
    rung = review_rung(32_000, policy, seen)
    assert rung.required_bytes == 9_227_750_400
    assert rung.bound_bytes <= rung.required_bytes
    assert not rung.pruned
    assert rung.decision == "admitted"


def test_a_floor_with_the_candidates_ratio_would_have_pruned_that_rung():
    floor = 4 * 131_072 * 8_000 * (32_000 / 16_000)
    assert 2 * int((128_000 + floor) * 1.10) == 18_455_219_200
