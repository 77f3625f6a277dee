"""Names of policies: what they mean, and what a wrong one is answered with."""

from __future__ import annotations

import pytest

from admission.estimator import EXPERT_FLOORS, PRESETS, Policy, PolicyError, parse_policies, parse_policy

FLOOR = EXPERT_FLOORS


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("base", Policy()),
        ("independent_maxima", Policy()),
        ("moe3", Policy(expert_floor=FLOOR["moe3"])),
        ("base+moe2", Policy(expert_floor=FLOOR["moe2"])),
        ("fc2_stage", Policy(expert_floor=FLOOR["fc2_stage"])),
        ("base+fc2_stage", Policy(expert_floor=FLOOR["fc2_stage"])),
        ("normalised", Policy(scale="normalised")),
        ("ratio", Policy(scale="ratio")),
        ("floor_beyond_window", Policy(floor_beyond_window=True)),
        ("joint", Policy(update="joint_observation")),
        (
            "normalised+fc1_fc2_stage+floor_beyond_window+joint_observation",
            Policy("normalised", FLOOR["fc1_fc2_stage"], True, "joint_observation"),
        ),
        (" joint + moe2 + normalised ", Policy("normalised", FLOOR["moe2"], False, "joint_observation")),
    ],
)
def test_a_name_is_a_combination_of_parts(name, policy):
    assert parse_policy(name) == policy
    assert parse_policy(name).name == name.strip()


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_shipped_policy_parses_and_says_what_it_does(preset):
    assert parse_policy(preset.policy.canonical_name) == preset.policy
    assert preset.explanation.endswith(".")
    assert preset.policy.explanation


def test_shipped_policies_all_differ():
    assert len({preset.policy for preset in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize("name", ["", "base+", "moe4", "Base", "base moe2", "jiont", "\x1b[2J", "x" * 500])
def test_an_unknown_part_is_answered_with_what_is_accepted(name):
    with pytest.raises(PolicyError) as caught:
        parse_policy(name)
    text = str(caught.value)
    for part in (
        "base, ratio, normalised",
        "moe2, moe3, fc2_stage, fc1_fc2_stage",
        "floor_beyond_window",
        "independent_maxima, joint_observation",
    ):
        assert part in text
    assert text.isprintable()
    assert len(text) < 700


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("moe2+moe3", "moe2 and moe3 both set the MoE floor"),
        ("moe2+fc2_stage", "moe2 and fc2_stage both set the MoE floor"),
        ("ratio+normalised", "ratio and normalised both set the scale"),
        ("base+normalised", "base and normalised both set the scale"),
        ("joint+joint_observation", "joint and joint_observation both set the update rule"),
    ],
)
def test_two_parts_of_one_kind_contradict(name, reason):
    with pytest.raises(PolicyError, match=reason):
        parse_policy(name)


def test_a_withdrawn_part_names_what_replaced_it():
    with pytest.raises(PolicyError, match=r"moe7 is no longer offered.*use fc1_fc2_stage"):
        parse_policy("base+moe7")


def test_one_policy_under_two_names_is_refused():
    with pytest.raises(PolicyError, match="base and independent_maxima are the same policy"):
        parse_policies("base,independent_maxima")


def test_no_policy_at_all_is_refused():
    with pytest.raises(PolicyError, match="none given"):
        parse_policies([])


def test_a_policy_must_be_named_by_text():
    with pytest.raises(PolicyError, match="found 7; expected a name"):
        parse_policy(7)
