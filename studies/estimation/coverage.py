"""Risk against coverage: what a method would approve if the margin were another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.estimation.labels import Label
from studies.estimation.methods import Prediction
from studies.estimation.scoring import Truth


@dataclass(frozen=True)
class CoveragePoint:
    """What is approved with a margin of `margin_mib`.

    Attributes:
        margin_mib: the margin that is tried; None for a method whose approvals don't depend on it.
        useful: approved and observed within the real margin.
        bad: approved and observed above it or failed.
    """

    margin_mib: float | None
    useful: int
    bad: int


def coverage_curve(pairs: Sequence[tuple[Prediction, Truth]]) -> list[CoveragePoint]:
    """One point for each margin at which some answer changes, lowest first; the real labels stay.

    A method without peaks has a single point.
    """
    margins = sorted({margin for prediction, _ in pairs if (margin := _deciding(prediction)) is not None})
    if not margins:
        return [_point(None, [pair for pair in pairs if pair[0].approves])]
    return [_point(margin, [pair for pair in pairs if pair[0].approves_at(margin)]) for margin in margins]


def point_at(pairs: Sequence[tuple[Prediction, Truth]], margin_mib: float) -> CoveragePoint:
    """What is approved with one margin."""
    return _point(margin_mib, [pair for pair in pairs if pair[0].approves_at(margin_mib)])


def _deciding(prediction: Prediction) -> float | None:
    return prediction.interval.high if prediction.interval else prediction.predicted_peak_mib


def _point(margin_mib: float | None, approved: Sequence[tuple[Prediction, Truth]]) -> CoveragePoint:
    useful = sum(truth.label is Label.WITHIN_MARGIN for _, truth in approved)
    return CoveragePoint(margin_mib, useful, len(approved) - useful)
