"""Rules of the estimate that hold for any input."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

from hypothesis import assume, example, given
from hypothesis import strategies as st

from admission.estimator import (
    PRESETS,
    Forward,
    Model,
    Observation,
    Profile,
    Subforward,
    parse_policy,
    price,
    price_split,
    usable_bytes,
)
from admission.estimator.pricing import decide, with_safety

NAMES = sorted(
    {preset.name for preset in PRESETS}
    | {"normalised+joint", "base+moe2+joint", "ratio+joint", "ratio+fc2_stage+floor_beyond_window"}
    | {"normalised+joint+floor_beyond_window", "base+floor_beyond_window"}
)
# Rounding lets the older form fall by bytes as packed tokens grow; its own test below says by how much.
EVEN = [name for name in NAMES if "ratio" not in name]
tokens = st.integers(1, 200_000)
few_tokens = st.integers(1, 5_000)  # so that windows end well inside the range of ``tokens``
sizes = st.integers(0, 10**12)
policies = st.sampled_from(NAMES).map(parse_policy)
even_policies = st.sampled_from(EVEN).map(parse_policy)
models = st.builds(
    Model,
    hidden_size=st.sampled_from([1, 64, 2_048, 4_096]),
    layers=st.integers(1, 80),
    element_bytes=st.sampled_from([1, 2, 4]),
    experts_per_token=st.sampled_from([0, 1, 8]),
    expert_intermediate_size=st.integers(1, 20_000),
    context_parallel=st.integers(1, 2),
    expert_parallel=st.integers(1, 2),
    expert_dispatch=st.sampled_from(["alltoall", "hybridep"]),
)


@st.composite
def observations(draw) -> Observation:
    baseline, above = draw(sizes), draw(sizes)
    return Observation(
        packed_tokens=draw(few_tokens),
        logical_tokens=draw(few_tokens),
        output_bytes=draw(st.integers(0, 10**6)),
        baseline_bytes=baseline,
        peak_bytes=baseline + above,
        retained_bytes=draw(st.none() | st.integers(0, above)),
    )


histories = st.lists(observations(), max_size=4)


@st.composite
def subforwards(draw) -> Subforward:
    fewest, planned, most = sorted(draw(st.lists(tokens, min_size=3, max_size=3)))
    forward = Forward(planned, draw(tokens), draw(sizes))
    return Subforward(forward, full_sharing_tokens=fewest, no_sharing_tokens=most)


def learn(policy, seen) -> Profile:
    profile = Profile(policy.update)
    for observation in seen:
        profile = profile.observe(observation)
    return profile


def regime(profile: Profile, n: int) -> tuple[bool, ...]:
    return tuple(track.trusts(n) for track in profile.tracks)


@given(
    models,
    even_policies,
    histories,
    tokens,
    tokens,
    st.fractions(Fraction(1, 4), 16, max_denominator=12),
    sizes,
)
def test_more_packed_tokens_at_the_same_ratio_never_cost_less_within_a_trust_regime(
    model, policy, seen, one, other, ratio, output
):
    profile = learn(policy, seen)
    scale = ratio.denominator
    fewer, more = sorted((one * scale, other * scale))
    assume(regime(profile, fewer) == regime(profile, more))
    prices = [price(model, Forward(n, int(n * ratio), output), policy, profile) for n in (fewer, more)]
    assert prices[0].required_bytes <= prices[1].required_bytes


@given(models, even_policies, histories, tokens, tokens, tokens, sizes)
def test_more_packed_tokens_for_the_same_logical_ones_never_cost_less_within_a_trust_regime(
    model, policy, seen, one, other, logical, output
):
    profile = learn(policy, seen)
    fewer, more = sorted((one, other))
    assume(regime(profile, fewer) == regime(profile, more))
    prices = [price(model, Forward(n, logical, output), policy, profile) for n in (fewer, more)]
    assert prices[0].required_bytes <= prices[1].required_bytes


@given(st.lists(observations(), min_size=1, max_size=4), tokens, tokens, sizes)
def test_the_older_form_differs_from_the_normalised_one_only_by_rounding(seen, n, logical, output):
    model, forward = Model(1, 1, 1, 0), Forward(n, logical, output)
    older, even = (
        price(model, forward, policy, learn(policy, seen)).compute_bytes
        for policy in (parse_policy("ratio"), parse_policy("normalised"))
    )
    assert abs(older - even) <= 1 + even * 2**-50


@given(
    models,
    st.sampled_from([name for name in EVEN if "floor_beyond_window" in name]).map(parse_policy),
    st.lists(observations(), min_size=1, max_size=4),
    tokens,
    sizes,
)
def test_a_floor_beyond_a_window_never_lets_a_price_fall_where_the_window_ends(
    model, policy, seen, logical, output
):
    profile = learn(policy, seen)
    last = profile.window_tokens
    inside, outside = (price(model, Forward(n, logical, output), policy, profile) for n in (last, last + 1))
    assert inside.required_bytes <= outside.required_bytes
    assert (inside.trusted, outside.trusted) == (True, False)
    assert outside.retained_bytes == outside.required_bytes


@given(models, policies, histories, tokens, tokens, sizes)
def test_what_stays_covers_the_outputs_and_never_exceeds_the_requirement(
    model, policy, seen, n, logical, output
):
    found = price(model, Forward(n, logical, output), policy, learn(policy, seen))
    assert output <= found.retained_bytes <= found.required_bytes


@given(models, policies, st.lists(subforwards(), min_size=1, max_size=4), histories, histories, sizes)
def test_the_bound_of_a_rung_never_exceeds_its_exact_cost(model, policy, parts, first, second, usable):
    profiles = [learn(policy, first), learn(policy, second)]
    rung = price_split(model, parts, policy, usable, profile_of=lambda place: profiles[place % 2])
    assert rung.bound_bytes <= rung.required_bytes
    assert not (rung.pruned and rung.decision == "admitted")


@given(models, policies, st.lists(subforwards(), min_size=1, max_size=4), histories)
def test_a_rung_costs_what_stays_plus_the_largest_part_that_does_not(model, policy, parts, seen):
    profile = learn(policy, seen)
    rung = price_split(model, parts, policy, 0, profile_of=lambda _: profile)
    singles = [price(model, part.forward, policy, profile) for part in parts]
    assert all(0 <= single.retained_bytes <= single.required_bytes for single in singles)
    running = [
        single.required_bytes + sum(o.retained_bytes for o in singles) - single.retained_bytes
        for single in singles
    ]
    assert rung.required_bytes == max(running)
    if len(parts) == 1:
        assert rung.required_bytes == singles[0].required_bytes


@given(models, policies, histories, tokens, tokens, sizes)
def test_admission_turns_exactly_at_the_requirement(model, policy, seen, n, logical, output):
    profile, forward = learn(policy, seen), Forward(n, logical, output)
    required = price(model, forward, policy, profile).required_bytes
    at = price(model, forward, policy, profile, usable=required)
    below = price(model, forward, policy, profile, usable=required - 1)
    assert (at.decision, at.margin_bytes) == ("admitted", 0)
    assert (below.decision, below.margin_bytes) == ("refused", -1)


@given(models, st.lists(observations(), min_size=1, max_size=4), tokens, tokens, sizes)
def test_the_order_of_observations_does_not_matter_for_independent_maxima(model, seen, n, logical, output):
    policy, forward = parse_policy("normalised"), Forward(n, logical, output)
    found = {price(model, forward, policy, learn(policy, order)) for order in permutations(seen)}
    assert len(found) == 1


@given(models, st.lists(observations(), min_size=1, max_size=4), tokens, tokens, sizes)
def test_the_order_of_observations_does_not_matter_for_the_price_of_joint_observation(
    model, seen, n, logical, output
):
    policy, forward = parse_policy("normalised+joint"), Forward(n, logical, output)
    found = {
        price(model, forward, policy, learn(policy, order)).required_bytes for order in permutations(seen)
    }
    assert len(found) == 1


@given(
    models,
    st.sampled_from(["joint", "normalised+moe2+joint", "ratio+fc2_stage+joint", "joint+floor_beyond_window"]),
    st.lists(observations(), min_size=1, max_size=5),
)
def test_joint_observation_never_prices_below_an_observed_high_water_mark_at_its_own_shape(model, name, seen):
    policy = parse_policy(name)
    profile = learn(policy, seen)
    for observation in seen:
        forward = Forward(observation.packed_tokens, observation.logical_tokens, observation.output_bytes)
        measured = observation.peak_bytes - observation.baseline_bytes
        assert price(model, forward, policy, profile).required_bytes >= measured


@given(models, histories, observations(), tokens, tokens)
def test_joint_observation_never_lowers_a_price_by_learning_more(model, seen, more, n, logical):
    policy, forward = parse_policy("normalised+joint"), Forward(n, logical, 0)
    before = price(model, forward, policy, learn(policy, seen))
    after = price(model, forward, policy, learn(policy, [*seen, more]))
    assert before.required_bytes <= after.required_bytes


@given(st.integers(0, 2**49 * 10 // 11))
@example(6_103_236_608)
@example(2**49 * 10 // 11)
def test_the_safety_factor_is_the_double_products_integer_below_512_tebibytes(total):
    assert with_safety(total) == int(total * 1.10)


@given(st.integers(0, 2**200))
def test_the_safety_factor_is_exact_at_any_size(total):
    assert with_safety(total) == int(Fraction(11, 10) * total)


def test_near_a_pebibyte_the_double_rounds_up_and_the_price_does_not():
    total = 1_023_545_369_856_929
    assert int(total * 1.10) == 2**50 - 2
    assert with_safety(total) == 2**50 - 3


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_usable_memory_keeps_three_percent_of_the_device_back(one, other):
    obtainable, device = sorted((one, other))
    usable = usable_bytes(obtainable, device)
    assert usable == max(0, obtainable - int(Fraction(3, 100) * device))
    assert decide(usable, usable) == "admitted"
