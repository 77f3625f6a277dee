"""A rung: one batch cut into several subforwards that run one after another.

The exact cost of a rung prices every subforward at the packed count its plan really has. What a finished
subforward retains stays allocated while the later ones run, so

    cost = sum of retained + largest ephemeral,   ephemeral = required - retained

which is the same as the largest, over the subforwards, of its own requirement plus what the others
retain. It therefore never falls when a requirement or a retained part grows.

The bound is what a planner can say before it plans: for each subforward only the fewest packed tokens
(everything shareable shared) and the most (nothing shared) are known. It takes the least requirement and the
least retained part that any packed count between the two could have, and combines them like the cost. A rung
whose bound already exceeds the usable bytes needs no planning. The bound never exceeds the exact
cost, also where a profile's window ends between the two counts and the price drops there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .inputs import Forward, InputError, Model, Problem, whole_problem
from .policies import Policy
from .pricing import (
    Decision,
    Price,
    decide,
    moe_floor_bytes,
    price,
    retained_with_safety,
    static_compute_bytes,
    with_safety,
)
from .profiles import Profile, Track

ROUNDING = 1 - 2.0**-50
"""Room for the rounding of ``ratio``: four double operations, each off by at most 2**-53 of its result."""


@dataclass(frozen=True)
class Subforward:
    """A subforward as planned, with the range its packed count had to lie in.

    ``full_sharing_tokens`` defaults to the planned count, ``no_sharing_tokens`` to the larger of the
    planned count and the logical tokens.
    """

    forward: Forward
    full_sharing_tokens: int | None = None
    no_sharing_tokens: int | None = None

    def __post_init__(self) -> None:
        planned = self.forward.packed_tokens
        given = {
            "full_sharing_tokens": self.full_sharing_tokens,
            "no_sharing_tokens": self.no_sharing_tokens,
        }
        problems = [
            problem
            for name, value in given.items()
            if value is not None and (problem := whole_problem(name, value, 0))
        ]
        if not problems and not self.fewest <= planned:
            expected = f"at most packed_tokens = {planned}"
            problems.append(Problem("full_sharing_tokens", str(self.fewest), expected))
        if not problems and not planned <= self.most:
            expected = f"at least packed_tokens = {planned}"
            problems.append(Problem("no_sharing_tokens", str(self.most), expected))
        if not problems and self.most and not self.forward.logical_tokens:
            problems.append(Problem("no_sharing_tokens", str(self.most), "0, since logical_tokens is 0"))
        if problems:
            raise InputError(problems)

    @property
    def fewest(self) -> int:
        planned = self.forward.packed_tokens
        return planned if self.full_sharing_tokens is None else self.full_sharing_tokens

    @property
    def most(self) -> int:
        if self.no_sharing_tokens is not None:
            return self.no_sharing_tokens
        return max(self.forward.packed_tokens, self.forward.logical_tokens)


@dataclass(frozen=True)
class SplitPrice:
    """A rung under one policy (bytes): exact cost, its bound, and the exact price of every subforward."""

    policy: Policy
    subforwards: tuple[Price, ...]
    required_bytes: int
    bound_bytes: int
    usable_bytes: int

    @property
    def retained_bytes(self) -> int:
        return sum(part.retained_bytes for part in self.subforwards)

    @property
    def ephemeral_bytes(self) -> int:
        """Largest ephemeral part; one at a time is alive."""
        return max(part.ephemeral_bytes for part in self.subforwards)

    @property
    def trusted(self) -> bool:
        """Whether every subforward lies inside a learned window."""
        return all(part.trusted for part in self.subforwards)

    @property
    def decision(self) -> Decision:
        return decide(self.required_bytes, self.usable_bytes)

    @property
    def pruned(self) -> bool:
        """Whether the bound alone refuses the rung, before any planning."""
        return decide(self.bound_bytes, self.usable_bytes) == "refused"

    @property
    def margin_bytes(self) -> int:
        return self.usable_bytes - self.required_bytes

    @property
    def formula(self) -> str:
        """The cost in one line, with the numbers in it."""
        retained = " + ".join(f"{part.retained_bytes:,}" for part in self.subforwards)
        return f"retained {retained} + ephemeral {self.ephemeral_bytes:,} = {self.required_bytes:,} B"

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "policy": self.policy.canonical_name,
            "required_bytes": self.required_bytes,
            "bound_bytes": self.bound_bytes,
            "pruned": self.pruned,
            "retained_bytes": self.retained_bytes,
            "ephemeral_bytes": self.ephemeral_bytes,
            "trusted": self.trusted,
            "usable_bytes": self.usable_bytes,
            "decision": self.decision,
            "margin_bytes": self.margin_bytes,
            "formula": self.formula,
            "subforwards": [part.as_dict() for part in self.subforwards],
        }


def rung_cost(parts: Sequence[tuple[int, int]]) -> int:
    """Cost of a rung from (required, retained) bytes of its subforwards."""
    return sum(retained for _, retained in parts) + max(required - retained for required, retained in parts)


def _least_charge(track: Track, part: Subforward, policy: Policy, keeps_floor: bool) -> int:
    """Least bytes that ``track`` charges over the packed counts of ``part``; 0 if it may be silent.

    Where a track speaks its charge grows with the packed count, apart from the rounding of ``ratio``.
    """
    logical = part.forward.logical_tokens
    choices: list[int] = []
    if policy.floor_beyond_window or track.trusts(part.fewest):
        charge = track.charge(policy.scale, part.fewest, logical).bytes
        if policy.scale == "ratio":
            even = track.rate * track.scaled_tokens(part.fewest, logical) * ROUNDING
            charge = min(charge, int(even))
        choices.append(charge)
    if not policy.floor_beyond_window and not track.trusts(part.most):
        # A track that falls silent within the range can't raise what is required at every count of it.
        choices.append(track.charge_at_window_end().bytes if keeps_floor else 0)
    return min(choices)


def _least_retained(track: Track, rate: float, part: Subforward) -> float:
    """Least retained compute (bytes) that a track counts where some retained rate is trusted."""
    inside = track.scaled_tokens(part.fewest, part.forward.logical_tokens)
    choices: list[float] = [inside] if track.trusts(part.fewest) else []
    if not track.trusts(part.most):
        choices.append(track.window_tokens)
    return rate * min(choices)


def lower_bound(model: Model, part: Subforward, policy: Policy, profile: Profile) -> tuple[int, int]:
    """A (required, retained) pair in bytes that no packed count open to ``part`` can go below.

    Each term takes its least value on its own: static and expert terms at the fewest tokens, every track
    at its least charge. The largest of these is at most the least of the largest.
    """
    output = part.forward.output_bytes
    if not part.fewest:
        return output, output
    compute = max(
        static_compute_bytes(model, part.fewest),
        moe_floor_bytes(model, part.fewest, policy) or 0,
        *(_least_charge(track, part, policy, profile.keeps_floor) for track in profile.tracks),
    )
    required = with_safety(output + compute)
    if not _retained_may_be_trusted(part, profile):
        return required, required
    largest = max(
        _least_retained(track, track.retained_rate, part)
        for track in profile.tracks
        if track.retained_rate is not None
    )
    return required, min(required, retained_with_safety(output, largest))


def _retained_may_be_trusted(part: Subforward, profile: Profile) -> bool:
    """Whether some packed count open to ``part`` lets a retained rate be used.

    The ratio test gets easier with more packed tokens, so the largest count inside the window decides, and
    it is asked in the very form that pricing uses.
    """
    for track in profile.tracks:
        last = min(track.window_tokens, part.most)
        allowed = part.fewest <= last and track.trusts_retained(last, part.forward.logical_tokens)
        if track.retained_rate is not None and allowed:
            return True
    return False


def price_split(
    model: Model,
    subforwards: Sequence[Subforward],
    policy: Policy,
    usable: int,
    profile_of: Callable[[int], Profile] | None = None,
) -> SplitPrice:
    """Exact cost and bound of a rung. ``profile_of(i)`` gives the profile of subforward ``i``.

    Raises InputError, also for a rung without subforwards.
    """
    problem = whole_problem("usable_bytes", usable, 0)
    if problem is None and not subforwards:
        problem = Problem("subforwards", "none", "at least one subforward")
    if problem:
        raise InputError([problem])
    cold = Profile(policy.update)
    profiles = [profile_of(index) if profile_of else cold for index in range(len(subforwards))]
    exact = tuple(
        price(model, part.forward, policy, known) for part, known in zip(subforwards, profiles, strict=True)
    )
    bounds = [
        lower_bound(model, part, policy, known) for part, known in zip(subforwards, profiles, strict=True)
    ]
    return SplitPrice(
        policy=policy,
        subforwards=exact,
        required_bytes=rung_cost([(part.required_bytes, part.retained_bytes) for part in exact]),
        bound_bytes=rung_cost(bounds),
        usable_bytes=usable,
    )
