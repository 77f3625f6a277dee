"""Figures of a method's page and of the comparison: residuals as dots, risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from studies.estimation.coverage import CoveragePoint
from studies.estimation.reasons import Residual
from studies.text.words import family_words

_SYMBOLS = ("circle", "diamond", "square", "cross", "star", "triangle-up")
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def residuals_figure(residuals: Sequence[Residual], title: str) -> go.Figure:
    """A dot for each fitted configuration, one line for each phase and family."""
    figure = go.Figure()
    families = sorted({item.family for item in residuals})
    lines = []
    for group in dict.fromkeys(item.group for item in residuals):
        for number, family in enumerate(families):
            here = [item for item in residuals if item.group == group and item.family == family]
            if not here:
                continue
            name = f"{group}, {family_words(family)}"
            lines.append(name)
            figure.add_scatter(
                x=[item.mib for item in here],
                y=[name] * len(here),
                mode="markers",
                name=name,
                showlegend=False,
                customdata=[item.configuration_id for item in here],
                marker={
                    "size": 9,
                    "opacity": 0.65,
                    "symbol": _SYMBOLS[number % len(_SYMBOLS)],
                    "color": _COLOURS[number % len(_COLOURS)],
                },
                hovertemplate="%{customdata}: %{x:,.0f} MiB<extra>%{y}</extra>",
            )
    figure.update_layout(
        template=None,
        height=90 + 42 * len(lines),
        margin={"l": 8, "r": 8, "t": 12, "b": 56},
        xaxis={"title": {"text": title}, "tickformat": ",d", "zeroline": True},
        yaxis={"automargin": True, "categoryorder": "array", "categoryarray": lines[::-1]},
        meta={
            "narrow": {
                "yaxis": {"tickfont": {"size": 10}},
                "xaxis": {"nticks": 4, "title": {"text": "MiB"}},
            }
        },
    )
    return figure


@dataclass(frozen=True)
class Curve:
    """One method's curve; `real` is its point at the study's margin."""

    name: str
    colour: str
    points: Sequence[CoveragePoint]
    real: CoveragePoint


def coverage_figure(curves: Sequence[Curve], *, usable: int) -> go.Figure:
    """Bad approvals to the right, useful ones upwards; a curve a method, the real margin as a large mark."""
    figure = go.Figure()
    for number, curve in enumerate(curves):
        moving = [point for point in curve.points if point.margin_mib is not None]
        points = [CoveragePoint(None, 0, 0), *moving] if moving else []
        figure.add_scatter(
            x=[point.bad for point in points],
            y=[point.useful for point in points],
            mode="lines",
            line={"color": curve.colour, "width": 2, "dash": _DASHES[number % len(_DASHES)], "shape": "hv"},
            name=curve.name,
            legendgroup=curve.name,
            customdata=[
                "no approval" if point.margin_mib is None else f"margin {point.margin_mib:,.0f} MiB"
                for point in points
            ],
            hovertemplate="%{customdata}: %{y} useful, %{x} bad<extra>" + curve.name + "</extra>",
        )
        figure.add_scatter(
            x=[curve.real.bad],
            y=[curve.real.useful],
            mode="markers",
            marker={
                "size": 13,
                "symbol": f"{_SYMBOLS[number % len(_SYMBOLS)]}-open",
                "color": curve.colour,
                "line": {"width": 3, "color": curve.colour},
            },
            name=f"{curve.name} at the real margin",
            legendgroup=curve.name,
            hovertemplate="%{y} useful, %{x} bad<extra>" + curve.name + " at the real margin</extra>",
        )
    most = max((point.bad for curve in curves for point in curve.points), default=0)
    figure.add_hline(y=usable, line={"dash": "dash", "width": 1, "color": "var(--muted)"},
                     annotation_text=f"all {usable} usable", annotation_position="top left")  # fmt: skip
    figure.update_layout(
        template=None,
        height=470,
        margin={"l": 8, "r": 8, "t": 24, "b": 170},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0},
        xaxis={"title": {"text": "approved although above margin or failing"}, "range": [-0.5, most + 1],
               "tickformat": "d"},
        yaxis={"title": {"text": "usable settings approved"}, "range": [-0.5, usable + 1.5],
               "tickformat": "d", "automargin": True},
        meta={"narrow": {"height": 620, "margin": {"b": 320}, "xaxis": {"title": {"text": "bad approvals"}}}},
    )  # fmt: skip
    return figure
