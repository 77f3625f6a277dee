"""By how much a decision and what happened lie apart, in bytes, as far as both sides are stated.

Nothing is filled in: a size that nobody stated leaves the gap unknown, and a failed request without the
memory that was free then bounds the shortfall from above and says no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from admission.services.witnesses import ScoredWitness, WitnessClass

UNSAFE = (WitnessClass.UNSAFE_ADMISSION, WitnessClass.USABLE_EXCEEDED)
"""Admissions that the device could not keep, or that held more than was usable."""


class Against(StrEnum):
    """What the bytes are a difference of; the value is said behind them."""

    SHORT = "short: the failed request less what was free"
    AT_MOST_SHORT = "short at most: the failed request, what was free is not stated"
    USABLE = "measured above what was usable"
    PREDICTED = "measured less predicted"
    REFUSED = "required above what was usable"


@dataclass(frozen=True)
class Gap:
    """``size`` in bytes; above zero the need, or the requirement, was the larger side."""

    size: int
    against: Against

    @property
    def is_bound(self) -> bool:
        """Whether it may be less, never more."""
        return self.against is Against.AT_MOST_SHORT


def gap(row: ScoredWitness) -> Gap | None:
    """The gap of one decision; None where a side of it is not stated."""
    w = row.witness
    if w.decision == "refused":
        margin = row.margin_bytes
        return Gap(-margin, Against.REFUSED) if margin is not None else None
    if row.name is WitnessClass.UNSAFE_ADMISSION:
        if w.failed_request_bytes is None:
            return None
        if w.free_bytes is None:
            return Gap(w.failed_request_bytes, Against.AT_MOST_SHORT)
        return Gap(w.failed_request_bytes - w.free_bytes, Against.SHORT)
    if row.name is WitnessClass.USABLE_EXCEEDED:
        assert row.measured_bytes is not None
        assert w.usable_bytes is not None
        return Gap(row.measured_bytes - w.usable_bytes, Against.USABLE)
    if w.excess_bytes is not None:
        return Gap(w.excess_bytes, Against.PREDICTED)
    if row.measured_bytes is None or w.required_bytes is None:
        return None
    return Gap(row.measured_bytes - w.required_bytes, Against.PREDICTED)


@dataclass(frozen=True)
class Unsafe:
    """The unsafe decisions of an issue: those with a gap, the largest first, and those without one."""

    known: list[tuple[ScoredWitness, Gap]]
    unknown: list[ScoredWitness]

    @property
    def total(self) -> int:
        return len(self.known) + len(self.unknown)

    @property
    def exact(self) -> int:
        """How many state by how many bytes."""
        return sum(not found.is_bound for _, found in self.known)

    @property
    def bounded(self) -> int:
        """How many state a bound alone."""
        return len(self.known) - self.exact


def unsafe(rows: Iterable[ScoredWitness]) -> Unsafe:
    """The unsafe ones of these decisions: what is stated in bytes first, then bounds, each by size."""
    found = [(row, gap(row)) for row in rows if row.name in UNSAFE]
    known = [(row, size) for row, size in found if size is not None]
    known.sort(key=lambda item: (item[1].is_bound, -item[1].size))
    return Unsafe(known, [row for row, size in found if size is None])
