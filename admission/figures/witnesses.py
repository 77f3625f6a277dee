"""Each admission decision on its own line: predicted, usable, and what was measured. Logarithmic, GiB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log10

import plotly.graph_objects as go

from admission.figures.words import plain
from admission.marks import CLASS_MARKS
from rlvram_site.marks import GREY, VERMILION

GIB = 2**30
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
    _labels(figure, rows, y)
    figure.update_layout(
        height=ROW * len(rows) + 120,
        margin={"l": 8, "r": 12, "t": 10, "b": 46},
        xaxis={
            "type": "log", "range": [log10(low), log10(high)], "title": {"text": "GiB, logarithmic"},
            "fixedrange": True, "dtick": 1, "minor": {"showgrid": True},
        },
        yaxis={"visible": False, "range": [-len(rows) + 0.25, 0.95], "fixedrange": True},
        legend={"orientation": "h", "y": -60 / (ROW * len(rows) + 10), "yanchor": "top", "x": 0},
        bargap=0.72,
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


def _labels(figure: go.Figure, rows: Sequence[DecisionLine], y: Sequence[int]) -> None:
    for line, at in zip(rows, y, strict=True):
        mark = CLASS_MARKS["under_estimated" if line.under_estimated else line.class_name]
        word = CLASS_MARKS[line.class_name].word + (", under-estimated" if line.under_estimated else "")
        remark = line.remark or ("" if line.sizes else "no sizes stated")
        colour = "var(--muted)" if mark.colour == GREY else mark.colour
        figure.add_annotation(
            x=0, xref="paper", xanchor="left", y=at, yshift=15, showarrow=False, align="left",
            text=f"{mark.glyph} <b>{plain(line.title, 60)}</b> · {word}{f' · {plain(remark)}' if remark else ''}",
            font={"size": 12},
            bgcolor="var(--surface)", borderpad=1,
        )  # fmt: skip
