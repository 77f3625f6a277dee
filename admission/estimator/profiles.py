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
from .policies import UpdateRule

TRUST_FACTOR = 8
"""A profile speaks for at most this many times its packed tokens, and this many times its sharing."""


@dataclass(frozen=True)
class Track:
    """A learned rate with the scale it is attached to.

    ``rate`` and ``retained_rate`` are bytes per packed token, ``sharing`` is logical / packed tokens.
    """

    rate: float
    packed_tokens: int
    sharing: float
    retained_rate: float | None = None

    @classmethod
    def of(cls, seen: Observation) -> Track:
        retained = None if seen.retained_bytes is None else seen.retained_bytes / seen.packed_tokens
        return cls(
            rate=seen.compute_bytes / seen.packed_tokens,
            packed_tokens=seen.packed_tokens,
            sharing=seen.logical_tokens / seen.packed_tokens,
            retained_rate=retained,
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

    def effective_tokens(self, packed_tokens: int, logical_tokens: int, normalised: bool) -> float:
        """Tokens that a rate is charged on: packed ones, or at least logical / observed sharing."""
        return max(packed_tokens, logical_tokens / self.sharing) if normalised else packed_tokens


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
