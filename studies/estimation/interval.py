"""An interval of a peak, and what it says against margin and capacity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.fields import is_finite_number
from studies.estimation.labels import UNDECIDED, Answer, Label, exceeds_margin


@dataclass(frozen=True)
class Interval:
    """Where a peak lies, MiB per device. An end that is None is open; at most one is.

    Attributes:
        low: the peak is at least this.
        high: the peak is at most this.
    """

    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise EstimationError("interval", "low and high", None, "at least one end")
        for field, value in (("low", self.low), ("high", self.high)):
            if value is not None and not is_finite_number(value):
                raise EstimationError("interval", field, value, "a finite number in MiB, or none")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise EstimationError("interval", "low", self.low, f"at most the upper end, {self.high}")

    @property
    def middle(self) -> float | None:
        """Half-way between the ends; None if one is open."""
        return None if self.low is None or self.high is None else (self.low + self.high) / 2

    def shifted(self, by_mib: float) -> Interval:
        """Both ends moved by `by_mib`."""
        return Interval(
            None if self.low is None else self.low + by_mib, None if self.high is None else self.high + by_mib
        )

    def answer(self, margin_mib: float, capacity_mib: float) -> Answer:
        """The label that holds wherever in the interval the peak lies; undecided where two could.

        Wholly up to the margin is within it, wholly above the capacity is a memory failure. Wholly above the
        margin is above it, even where the upper part would be a failure: neither is usable.
        """
        if self.high is not None and not exceeds_margin(self.high, margin_mib):
            return Label.WITHIN_MARGIN
        if self.low is not None and self.low > capacity_mib:
            return Label.MEMORY_FAILURE
        if self.low is not None and exceeds_margin(self.low, margin_mib):
            return Label.ABOVE_MARGIN
        return UNDECIDED


def spanned(intervals: Iterable[Interval]) -> Interval:
    """The smallest interval that holds all of `intervals`, at least one.

    Raises:
        EstimationError: there is none.
    """
    found = list(intervals)
    if not found:
        raise EstimationError("interval", "intervals", 0, "at least one")
    lows, highs = [item.low for item in found], [item.high for item in found]
    return Interval(
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def label_of_peak(peak_mib: float, margin_mib: float, capacity_mib: float) -> Label:
    """The class of a single peak: above capacity, above margin, or within it."""
    if peak_mib > capacity_mib:
        return Label.MEMORY_FAILURE
    return Label.ABOVE_MARGIN if exceeds_margin(peak_mib, margin_mib) else Label.WITHIN_MARGIN
