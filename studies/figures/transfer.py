"""Approvals in the transfer suite: a figure for each track, predictors below each other, nothing pooled."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from studies.figures.approvals import Group, MethodCounts, approvals_figure

_STATES = {
    "useful": "approved_within_margin",
    "approved_above_margin": "approved_above_margin",
    "approved_failed": "approved_memory_failure",
    "rejected_usable": "rejected_within_margin",
}
LONGEST_NAME = 40


@dataclass(frozen=True)
class PredictorBar:
    """One predictor on one track. Without scores, ``note`` says why there are none."""

    name: str
    scores: Mapping[str, Any] | None
    note: str = ""


def transfer_figure(title: str, note: str, predictors: Sequence[PredictorBar]) -> go.Figure:
    """Approvals to the right of zero, usable settings that were rejected to the left of it.

    Tracks differ so much in size that each has a figure, and a scale, of its own.
    """
    return approvals_figure([Group(title, note, [_bar(predictor) for predictor in predictors])])


def _bar(predictor: PredictorBar) -> MethodCounts:
    name = _plain(predictor.name)
    if predictor.scores is None:
        return MethodCounts(name, note=predictor.note)
    return MethodCounts(name, {state: int(predictor.scores[key]) for state, key in _STATES.items()})


def _plain(name: str) -> str:
    """A typed name as text: plotly would read markup in it, and the bars blanks for underscores."""
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    return html.escape(short, quote=False).replace("_", "&#95;")
