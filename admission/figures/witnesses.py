"""Each admission decision on its own line: predicted, usable, and what was measured. Logarithmic, GiB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

import plotly.graph_objects as go

from admission.figures.words import plain
from admission.marks import CLASS_MARKS
from rlvram_site.marks import GREY, VERMILION

GIB = 2**30
SHORT = 40
"""Characters of a name on a phone."""

ROW = 44
"""Pixels of one decision: its name above, its line below."""


@dataclass(frozen=True)
class DecisionLine:
    """One decision. Sizes are bytes; ``measured`` compares with ``predicted``, ``totals`` does not."""

    title: str
    class_name: str
    under_estimated: bool = False
    predicted: int | None = None
    usable: int | None = None
    measured: Sequence[int] = field(default_factory=tuple)
    totals: Sequence[int] = field(default_factory=tuple)
    failed_request: int | None = None
    remark: str = ""

    @property
    def sizes(self) -> list[int]:
        given = (self.predicted, self.usable, self.failed_request, *self.measured, *self.totals)
        return [size for size in given if size]


def witnesses_figure(lines: Sequence[DecisionLine]) -> go.Figure:
    """``lines`` from top to bottom, grouped by class in the order of the marks."""
    order = list(CLASS_MARKS)
    rows = sorted(lines, key=lambda line: order.index(line.class_name))
    sizes = [size / GIB for line in rows for size in line.sizes] or [1.0]
    low, high = min(sizes) / 2, max(sizes) * 2
    figure = go.Figure()
    y = [-place for place in range(len(rows))]
    _usable(figure, rows, y, low)
    _spans(figure, rows, y)
    predicted = [(line.predicted / GIB, at) for line, at in zip(rows, y, strict=True) if line.predicted]
    _points(figure, "predicted", predicted, "line-ns-open", "var(--text)", 15, 3)
    totals = [(size / GIB, at) for line, at in zip(rows, y, strict=True) for size in line.totals]
    _points(figure, "measured total, not comparable", totals, "circle-open", "var(--muted)", 9, 2)
    for name, mark in CLASS_MARKS.items():
        points = [
            (size / GIB, at)
            for line, at in zip(rows, y, strict=True)
            for size in line.measured
            if (name == "under_estimated") == line.under_estimated
            and name in (line.class_name, "under_estimated")
        ]
        label = "measured above the prediction" if name == "under_estimated" else "measured"
        colour = "var(--quiet)" if mark.colour == GREY else mark.colour
        _points(figure, label, points, mark.symbol, colour, 11, 1)
    failed = [
        (line.failed_request / GIB, at) for line, at in zip(rows, y, strict=True) if line.failed_request
    ]
    _points(figure, "request that failed", failed, "x", VERMILION, 11, 1)
    labels = [_label(line, at) for line, at in zip(rows, y, strict=True)]
    figure.update_layout(
        template=None,
        height=ROW * len(rows) + 120,
        margin={"l": 8, "r": 12, "t": 10, "b": 46},
        xaxis={
            "type": "log", "range": [log10(low), log10(high)], "title": {"text": "GiB, logarithmic"},
            "fixedrange": True, "dtick": 1,
        },
        yaxis={"visible": False, "range": [-len(rows) + 0.25, 0.95], "fixedrange": True},
        legend={"orientation": "h", "y": -60 / (ROW * len(rows) + 10), "yanchor": "top", "x": 0},
        bargap=0.72,
        annotations=labels,
        meta={
            "narrow": {"annotations": [_label(line, at, SHORT) for line, at in zip(rows, y, strict=True)]},
        },
    )  # fmt: skip
    return figure


def _usable(figure: go.Figure, rows: Sequence[DecisionLine], y: Sequence[int], low: float) -> None:
    """Usable memory as a bar; hatched where the decision is unscored."""
    for hatched in (False, True):
        found = [
            (line.usable / GIB, at)
            for line, at in zip(rows, y, strict=True)
            if line.usable and bool(CLASS_MARKS[line.class_name].pattern) == hatched
        ]
        if found:
            figure.add_bar(
                orientation="h", x=[size - low for size, _ in found], base=low, y=[at for _, at in found],
                name="usable, decision unscored" if hatched else "usable",
                marker={
                    "color": "var(--grid)", "line": {"color": "var(--muted)", "width": 1},
                    "pattern": {"shape": "/" if hatched else "", "fgcolor": "var(--muted)", "size": 6},
                },
                customdata=[[size] for size, _ in found],
                hovertemplate="usable %{customdata[0]:.3f} GiB<extra></extra>",
            )  # fmt: skip


def _spans(figure: go.Figure, rows: Sequence[DecisionLine], y: Sequence[int]) -> None:
    xs: list[float | None] = []
    ys: list[int | None] = []
    for line, at in zip(rows, y, strict=True):
        if len(line.sizes) > 1:
            xs += [min(line.sizes) / GIB, max(line.sizes) / GIB, None]
            ys += [at, at, None]
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"color": "var(--muted)", "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )


def _points(
    figure: go.Figure,
    name: str,
    points: list[tuple[float, int]],
    symbol: str,
    colour: str,
    size: int,
    edge: int,
) -> None:
    if points:
        figure.add_scatter(
            x=[x for x, _ in points],
            y=[at for _, at in points],
            mode="markers",
            name=name,
            marker={
                "symbol": symbol,
                "color": colour,
                "size": size,
                "line": {"color": colour, "width": edge},
            },
            hovertemplate=f"{name} %{{x:.3f}} GiB<extra></extra>",
        )


def _label(line: DecisionLine, y: int, length: int = 60) -> dict[str, Any]:
    """The decision's name above its line; a short one leaves the class to its mark."""
    flagged = "under_estimated" if line.under_estimated else line.class_name
    mark = CLASS_MARKS[flagged]
    parts = [f"{mark.glyph} <b>{plain(line.title, length)}</b>"]
    if length > SHORT:
        parts.append(
            CLASS_MARKS[line.class_name].word + (", under-estimated" if line.under_estimated else "")
        )
        parts += [plain(line.remark)] if line.remark else [] if line.sizes else ["no sizes stated"]
    return {
        "x": 0, "xref": "paper", "xanchor": "left", "y": y, "yshift": 15, "showarrow": False, "align": "left",
        "text": " · ".join(parts), "font": {"size": 12}, "bgcolor": "var(--surface)", "borderpad": 1,
    }  # fmt: skip
