"""The price of one forward: its terms, what they add up to, and whether that is admitted.

    required = int((out + compute) x 1.10)   for N > 0 packed tokens, else out
    compute  = the largest of the static term, the expert floor and what a profile has learned

    retained = int((out + retained rate x max(N, L / sharing)) x 1.10) where trusted, else required

Terms are bytes. The safety factor is applied to whole bytes as ``x * 11 // 10``: below 2**49 bytes (512 TiB)
this is the same integer as ``int(x * 1.10)`` in doubles, and above it stays exact where the double would
round up. Learned terms are ``int(rate * tokens)`` in doubles, and a retained part is cut only once, at its
end: see :mod:`.profiles`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from .experts import bytes_per_token
from .inputs import Forward, InputError, Model, Observation, Problem, whole_problem
from .policies import Policy
from .profiles import Charge, Profile, Track

SAFETY = 1.10
Decision = Literal["admitted", "refused"]
LearnedKind = Literal["profile", "beyond_window", "window_floor"]
DecidedBy = Literal["outputs", "static", "moe_floor"] | LearnedKind

DECIDED_BY: dict[DecidedBy, str] = {
    "outputs": "requested outputs only",
    "static": "static compute",
    "moe_floor": "expert floor",
    "profile": "learned rate inside its window",
    "beyond_window": "learned rate, kept as a floor beyond its window",
    "window_floor": "largest value of a learned window, kept as a floor beyond it",
}


def with_safety(total_bytes: int) -> int:
    """``total_bytes`` times 1.10, cut to whole bytes."""
    return total_bytes * 11 // 10


def static_compute_bytes(model: Model, packed_tokens: int) -> int:
    """Activation estimate from sizes alone: N x H x b x a."""
    return packed_tokens * model.hidden_size * model.element_bytes * model.activation_factor


def retained_with_safety(output_bytes: int, compute_bytes: float) -> int:
    """Outputs and retained compute times 1.10, in doubles and cut to whole bytes only at the end."""
    return int((output_bytes + compute_bytes) * SAFETY)


def moe_floor_bytes(model: Model, packed_tokens: int, policy: Policy) -> int | None:
    """Bytes of the policy's expert floor; None where no floor applies.

    Raises InputError when the floor needs a width that the model doesn't give.
    """
    each = bytes_per_token(model, policy.expert_floor)
    return None if each is None else packed_tokens * each


def usable_bytes(obtainable_bytes: int, device_bytes: int) -> int:
    """What the allocator can still get, less a reserve of 3 % of the device, never below zero.

    ``obtainable_bytes`` is free device memory plus what the allocator holds but does not use. The reserve
    is cut to whole bytes. Raises InputError.
    """
    checks = (
        whole_problem("obtainable_bytes", obtainable_bytes, 0),
        whole_problem("device_bytes", device_bytes, 0),
    )
    problems = [problem for problem in checks if problem]
    if not problems and obtainable_bytes > device_bytes:
        problems.append(
            Problem("obtainable_bytes", str(obtainable_bytes), f"at most device_bytes = {device_bytes}")
        )
    if problems:
        raise InputError(problems)
    return max(0, obtainable_bytes - device_bytes * 3 // 100)


def decide(required_bytes: int, usable: int) -> Decision:
    """Admitted if and only if the requirement is at most what is usable."""
    return "admitted" if required_bytes <= usable else "refused"


@dataclass(frozen=True)
class Learned:
    """What the deciding track of a profile says about one forward."""

    kind: LearnedKind
    track: Track
    charge: Charge

    @property
    def bytes(self) -> int:
        return self.charge.bytes


@dataclass(frozen=True)
class Price:
    """One forward under one policy, with every term that led to the requirement (bytes)."""

    policy: Policy
    model: Model
    forward: Forward
    static_compute_bytes: int
    moe_floor_bytes: int | None
    learned: Learned | None
    compute_bytes: int
    decided_by: DecidedBy
    trusted: bool
    trust_window_tokens: int
    required_bytes: int
    retained_bytes: int
    retained_observed: bool
    usable_bytes: int | None = None

    @property
    def ephemeral_bytes(self) -> int:
        """The part of the requirement that is given back when the forward returns."""
        return self.required_bytes - self.retained_bytes

    @property
    def retained_share(self) -> float:
        """Retained part of the requirement, 1.0 until a trusted observation says otherwise."""
        return self.retained_bytes / self.required_bytes if self.required_bytes else 1.0

    @property
    def decision(self) -> Decision | None:
        return None if self.usable_bytes is None else decide(self.required_bytes, self.usable_bytes)

    @property
    def margin_bytes(self) -> int | None:
        """Usable less required: negative when refused."""
        return None if self.usable_bytes is None else self.usable_bytes - self.required_bytes

    @property
    def formula(self) -> str:
        """The requirement in one line, with the numbers in it."""
        if not self.forward.packed_tokens:
            return f"no packed tokens: outputs alone = {self.required_bytes:,} B"
        terms = [f"static {self.static_compute_bytes:,}"]
        if self.moe_floor_bytes is not None:
            terms.append(f"expert floor {self.moe_floor_bytes:,}")
        if self.learned:
            terms.append(f"learned {self.learned.bytes:,}")
        compute = f"max({', '.join(terms)})" if len(terms) > 1 else terms[0]
        return f"int(({self.forward.output_bytes:,} + {compute}) × 1.10) = {self.required_bytes:,} B"

    @property
    def working(self) -> tuple[tuple[str, str], ...]:
        """The calculation step by step as (what, sum with the numbers in it), for a page."""
        n, model = self.forward.packed_tokens, self.model
        sizes = f"{model.hidden_size:,} × {model.element_bytes}"
        lines = [
            ("activation factor",
             f"min(16, max(4, {model.layers} // 4 + 4)) = {model.activation_factor}"),
            ("static compute",
             f"{n:,} × {sizes} × {model.activation_factor} = {self.static_compute_bytes:,} B"),
        ]  # fmt: skip
        if self.moe_floor_bytes is not None:
            each = bytes_per_token(model, self.policy.expert_floor)
            lines.append(("expert floor", f"{n:,} × {each:,} B/token = {self.moe_floor_bytes:,} B"))
        elif self.policy.expert_floor:
            lines.append(("expert floor", "none: not a geometry that it was shown for"))
        lines.append(("trust", self._trust_text()))
        if self.learned:
            kind = "window floor" if self.learned.kind == "window_floor" else "learned rate"
            charge = self.learned.charge
            factor = f" × {charge.factor:,.10g}" if charge.factor != 1 else ""
            product = f"int({self.learned.track.rate:,.4f} B/token × {charge.tokens:,.10g}{factor})"
            lines.append((kind, f"{product} = {self.learned.bytes:,} B"))
        lines.append(("decided by", f"{DECIDED_BY[self.decided_by]}: {self.compute_bytes:,} B"))
        lines.append(("required", self.formula))
        share = f"{self.retained_share:.6f}" if self.retained_observed else "1.0, nothing trusted observed"
        lines.append(("retained", f"{self.retained_bytes:,} B (share {share})"))
        if self.usable_bytes is not None:
            sign = "≤" if self.decision == "admitted" else ">"
            text = f"{self.required_bytes:,} {sign} {self.usable_bytes:,}: {self.decision}"
            lines.append(("decision", f"{text}, margin {self.margin_bytes:,} B"))
        return tuple(lines)

    def _trust_text(self) -> str:
        if not self.trust_window_tokens:
            return "no profile: cold"
        sign, word = ("≤", "trusted") if self.trusted else (">", "cold")
        return f"{self.forward.packed_tokens:,} {sign} window of {self.trust_window_tokens:,}: {word}"

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "policy": self.policy.canonical_name,
            **asdict(self.forward),
            "static_compute_bytes": self.static_compute_bytes,
            "moe_floor_bytes": self.moe_floor_bytes,
            "moe_floor_bytes_per_token": bytes_per_token(self.model, self.policy.expert_floor),
            "profile_compute_bytes": self.learned.bytes if self.learned else None,
            "profile_kind": self.learned.kind if self.learned else None,
            "compute_bytes": self.compute_bytes,
            "decided_by": self.decided_by,
            "trusted": self.trusted,
            "trust_window_tokens": self.trust_window_tokens,
            "required_bytes": self.required_bytes,
            "retained_bytes": self.retained_bytes,
            "retained_share": self.retained_share,
            "ephemeral_bytes": self.ephemeral_bytes,
            "usable_bytes": self.usable_bytes,
            "decision": self.decision,
            "margin_bytes": self.margin_bytes,
            "formula": self.formula,
        }


def track_term(policy: Policy, forward: Forward, profile: Profile, track: Track) -> Learned | None:
    """What one track says about ``forward``; None when it is silent.

    A track speaks inside its own window. Beyond it, ``floor_beyond_window`` lets its rate speak on, and
    otherwise ``joint_observation`` keeps the most it said for its own sharing: its rate at the window's
    end. That floor carries no ratio of the candidate on purpose: a floor that shrank as packed tokens grew
    would make the bound of a split exceed the cost it bounds.
    """
    inside = track.trusts(forward.packed_tokens)
    if inside or policy.floor_beyond_window:
        charge = track.charge(policy.scale, forward.packed_tokens, forward.logical_tokens)
        return Learned("profile" if inside else "beyond_window", track, charge)
    return Learned("window_floor", track, track.charge_at_window_end()) if profile.keeps_floor else None


def learned_term(policy: Policy, forward: Forward, profile: Profile) -> Learned | None:
    """The largest learned term that applies to ``forward``; None when every track is silent."""
    terms = (track_term(policy, forward, profile, track) for track in profile.tracks)
    return max((term for term in terms if term), key=lambda term: term.bytes, default=None)


def learned_retained_bytes(forward: Forward, profile: Profile, required: int) -> int | None:
    """Retained part of ``required`` as learned, or None while no retained rate is trusted here."""
    n, logical = forward.packed_tokens, forward.logical_tokens
    known = [(track, track.retained_rate) for track in profile.tracks if track.retained_rate is not None]
    if not any(track.trusts_retained(n, logical) for track, _ in known):
        return None
    largest = max(
        rate * (track.scaled_tokens(n, logical) if track.trusts(n) else track.window_tokens)
        for track, rate in known
    )
    return min(required, retained_with_safety(forward.output_bytes, largest))


def price(
    model: Model,
    forward: Forward,
    policy: Policy,
    profile: Profile | None = None,
    usable: int | None = None,
) -> Price:
    """Price ``forward`` under ``policy``; ``profile`` must have been learned under the policy's update rule.

    Without ``usable`` bytes the price carries no decision. Raises InputError, also when the policy's expert
    floor needs ``model.expert_intermediate_size`` and the model doesn't give it.
    """
    if profile is None:
        profile = Profile(policy.update)
    elif profile.update != policy.update:
        raise InputError([Problem("profile", profile.update, f"a profile learned under {policy.update}")])
    if usable is not None and (problem := whole_problem("usable_bytes", usable, 0)):
        raise InputError([problem])
    n = forward.packed_tokens
    static = static_compute_bytes(model, n)
    floor = moe_floor_bytes(model, n, policy)
    learned = learned_term(policy, forward, profile) if n else None
    compute = static
    decided_by: DecidedBy = "static"
    if floor is not None and floor > compute:
        compute, decided_by = floor, "moe_floor"
    if learned is not None and learned.bytes > compute:
        compute, decided_by = learned.bytes, learned.kind
    if not n:
        decided_by = "outputs"
    required = with_safety(forward.output_bytes + compute) if n else forward.output_bytes
    retained = learned_retained_bytes(forward, profile, required) if n else None
    return Price(
        policy=policy,
        model=model,
        forward=forward,
        static_compute_bytes=static,
        moe_floor_bytes=floor,
        learned=learned,
        compute_bytes=compute,
        decided_by=decided_by,
        trusted=n <= profile.window_tokens and bool(profile.tracks),
        trust_window_tokens=profile.window_tokens,
        required_bytes=required,
        retained_bytes=required if retained is None else retained,
        retained_observed=retained is not None,
        usable_bytes=usable,
    )


def compare(
    model: Model,
    forward: Forward,
    policies: Iterable[Policy],
    observations: Iterable[Observation] = (),
    usable: int | None = None,
) -> tuple[Price, ...]:
    """One price per policy, each with a profile learned from the same observations. Raises InputError."""
    seen = tuple(observations)
    prices = []
    for policy in policies:
        profile = Profile(policy.update)
        for observation in seen:
            profile = profile.observe(observation)
        prices.append(price(model, forward, policy, profile, usable))
    return tuple(prices)
