"""What a configuration's volumes say beside margin and capacity: one bar for each way of adding them up.

All sizes are GiB per device. The bars share one scale and one colour per component, so that a reader sees
which component a method counts and which it leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

# Paul Tol's muted set: distinct for colour-blind readers and none of the colours that stand for a state.
_COLOURS = (
    "#332288",
    "#88CCEE",
    "#44AA99",
    "#999933",
    "#DDCC77",
    "#CC6677",
    "#882255",
    "#AA4499",
    "#117733",
    "#661100",
)
_PATTERNS = ("", "/", "", "\\", "", "x", "", "-", "", "+")
_OUTLINE = "var(--muted)"


@dataclass(frozen=True)
class Segment:
    """One component of a bar; ``gib`` is never negative."""

    name: str
    gib: float


@dataclass(frozen=True)
class Bar:
    """One way of adding up components; ``low_gib`` and ``high_gib`` are where the sum may lie, if known."""

    title: str
    segments: Sequence[Segment]
    low_gib: float | None = None
    high_gib: float | None = None

    @property
    def total_gib(self) -> float:
        return sum(segment.gib for segment in self.segments)


def volumes_figure(bars: Sequence[Bar], *, margin_gib: float, capacity_gib: float) -> go.Figure:
    """Horizontal stacked bars from zero, with the margin and the capacity as labelled lines.

    A component keeps its colour in every bar; the sum stands at each bar's end.
    """
    figure = go.Figure()
    names = list(dict.fromkeys(segment.name for bar in bars for segment in bar.segments))
    for position, name in enumerate(names):
        values = [sum(s.gib for s in bar.segments if s.name == name) for bar in bars]
        figure.add_bar(
            name=name,
            y=[bar.title for bar in bars],
            x=values,
            orientation="h",
            marker={
                "color": _COLOURS[position % len(_COLOURS)],
                "line": {"color": _OUTLINE, "width": 1},
                "pattern": {"shape": _PATTERNS[position % len(_PATTERNS)], "solidity": 0.25},
            },
            hovertemplate="%{y}<br>" + name + ": %{x:.3f} GiB<extra></extra>",
        )
    for bar in bars:
        figure.add_annotation(
            y=bar.title,
            x=max(bar.total_gib, bar.high_gib or 0.0),
            text=f"{bar.total_gib:.2f} GiB",
            showarrow=False,
            xanchor="left",
            xshift=4,
            bgcolor="var(--surface)",
        )
    _intervals(figure, bars)
    longest = max((max(bar.total_gib, bar.high_gib or 0.0) for bar in bars), default=0.0)
    for limit, text, anchor, dash in (
        (margin_gib, f"margin {margin_gib:g} GiB", "right", "dash"),
        (capacity_gib, f"capacity {capacity_gib:g} GiB", "left", "solid"),
    ):
        figure.add_vline(
            x=limit,
            line={"dash": dash, "width": 1.5, "color": _OUTLINE},
            annotation_text=text,
            annotation_position="top",
            annotation_xanchor=anchor,
        )
    figure.update_layout(
        template=None,
        barmode="stack",
        height=170 + 58 * len(bars),
        margin={"l": 8, "r": 8, "t": 28, "b": 110},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "traceorder": "normal"},
        yaxis={"autorange": "reversed", "automargin": True},
        xaxis={
            "title": {"text": "GiB per device", "standoff": 6},
            "range": [0, max(longest, capacity_gib) * 1.16],
            "zeroline": True,
        },
        meta={
            "narrow": {
                "height": 290 + 58 * len(bars),
                "margin": {"b": 230},
                "yaxis": {"tickfont": {"size": 11}},
                # Room for the sum behind the longest bar.
                "xaxis": {"nticks": 5, "range": [0, max(longest, capacity_gib) * 1.6]},
            }
        },
    )
    return figure


def _intervals(figure: go.Figure, bars: Sequence[Bar]) -> None:
    """A line from end to end over each bar that has an interval."""
    shown = [bar for bar in bars if bar.low_gib is not None and bar.high_gib is not None]
    for number, bar in enumerate(shown):
        figure.add_scatter(
            name="interval",
            legendgroup="interval",
            showlegend=number == 0,
            x=[bar.low_gib, bar.high_gib],
            y=[bar.title, bar.title],
            mode="lines+markers",
            line={"color": "var(--text)", "width": 2},
            marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": "var(--text)"}},
            hovertemplate="%{y}<br>%{x:.3f} GiB<extra>interval</extra>",
        )
