"""What is learned from measured forwards, under one of two update rules.

A profile is a tuple of tracks. ``independent_maxima`` keeps a single track whose fields are maxima
taken one by one, so a rate may come from one observation and a scale from another.
``joint_observation`` keeps one track per observation, so a rate never leaves its own scale.

Rates are doubles, as in the estimator that made the recorded decisions: its byte figures come from
double products cut to integers, and its trust boundaries from double quotients.
"""

from __future__ import annotations

from dataclasses import dataclass

from .inputs import Observation
from .policies import Scale, UpdateRule

TRUST_FACTOR = 8
"""A profile speaks for at most this many times its packed tokens, and this many times its sharing."""


@dataclass(frozen=True)
class Charge:
    """A rate charged on a forward: ``int(rate x tokens x factor)`` bytes."""

    tokens: float
    factor: float
    bytes: int


@dataclass(frozen=True)
class Track:
    """A learned rate with the scale it is attached to.

    ``rate`` and ``retained_rate`` are bytes per packed token without the requested outputs, ``sharing`` is
    logical / packed tokens and at least 1: padding is no sharing.
    """

    rate: float
    packed_tokens: int
    sharing: float
    retained_rate: float | None = None

    @classmethod
    def of(cls, seen: Observation) -> Track:
        kept = seen.retained_compute_bytes
        return cls(
            rate=seen.compute_bytes / seen.packed_tokens,
            packed_tokens=seen.packed_tokens,
            sharing=max(1.0, seen.logical_tokens / seen.packed_tokens),
            retained_rate=None if kept is None else kept / seen.packed_tokens,
        )

    @property
    def window_tokens(self) -> int:
        """Most packed tokens this track is trusted for."""
        return TRUST_FACTOR * self.packed_tokens

    def trusts(self, packed_tokens: int) -> bool:
        return packed_tokens <= self.window_tokens

    def trusts_retained(self, packed_tokens: int, logical_tokens: int) -> bool:
        """Whether the retained rate may be used.

        The ratio test must stay in this form: multiplying through by a reciprocal rounds differently
        and disagrees exactly at the boundary (15/13 observed, 960 logical in 104 packed tokens).
        """
        in_ratio = logical_tokens / max(1, packed_tokens) <= self.sharing * TRUST_FACTOR
        return self.trusts(packed_tokens) and in_ratio

    def scaled_tokens(self, packed_tokens: int, logical_tokens: int) -> float:
        """Packed tokens, or the logical ones at the observed sharing if those are more."""
        return max(packed_tokens, logical_tokens / self.sharing)

    def charge(self, scale: Scale, packed_tokens: int, logical_tokens: int) -> Charge:
        """The rate charged on a forward.

        ``ratio`` multiplies in the order of the form before #877: rounding makes it fall by a byte or two
        between neighbouring packed counts, which is why ``normalised`` replaced it.
        """
        if scale == "ratio":
            factor = max(1.0, logical_tokens / max(1, packed_tokens) / self.sharing)
            return Charge(packed_tokens, factor, int(self.rate * packed_tokens * factor))
        tokens = packed_tokens if scale == "base" else self.scaled_tokens(packed_tokens, logical_tokens)
        return Charge(tokens, 1.0, int(self.rate * tokens))

    def charge_at_window_end(self) -> Charge:
        """The most this track says for its own sharing."""
        return Charge(self.window_tokens, 1.0, int(self.rate * self.window_tokens))


def _larger(left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


@dataclass(frozen=True)
class Profile:
    """Everything learned for one memory signature under one update rule."""

    update: UpdateRule
    tracks: tuple[Track, ...] = ()

    def observe(self, seen: Observation) -> Profile:
        """The profile after one more observation; this one is left as it was."""
        new = Track.of(seen)
        if self.update == "joint_observation":
            return self if new in self.tracks else Profile(self.update, (*self.tracks, new))
        for old in self.tracks:
            new = Track(
                rate=max(old.rate, new.rate),
                packed_tokens=max(old.packed_tokens, new.packed_tokens),
                sharing=max(old.sharing, new.sharing),
                retained_rate=_larger(old.retained_rate, new.retained_rate),
            )
        return Profile(self.update, (new,))

    @property
    def window_tokens(self) -> int:
        """Most packed tokens any track is trusted for; 0 before the first observation."""
        return max((track.window_tokens for track in self.tracks), default=0)

    @property
    def keeps_floor(self) -> bool:
        """Whether a track still counts, as a floor, beyond its own window."""
        return self.update == "joint_observation"
