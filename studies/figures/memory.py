"""Sampled memory of one attempt: a line per device, the phases as a band beneath, margin and capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

# Middle tones that stand out on both grounds; the dashes tell neighbours apart without colour.
_COLOURS = ("var(--focus)", "#0F8F7F", "#C05A74", "#8A8A1F", "#8F6FC0", "#B0762A", "#4F8FC0", "#A0527A")
_DASHES = ("solid", "dot", "dash", "dashdot")
_LINE = "var(--muted)"


@dataclass(frozen=True)
class Band:
    """A phase from ``start_s`` to ``end_s``, seconds since the first sample."""

    name: str
    start_s: float
    end_s: float


def memory_figure(
    devices: Mapping[str, Sequence[tuple[float, float]]],
    phases: Sequence[Band],
    *,
    margin_mib: float,
    capacity_mib: float,
) -> go.Figure:
    """``devices`` maps a name to points: seconds since the first sample, MiB. The scale starts at zero."""
    figure = go.Figure()
    for place, (name, points) in enumerate(devices.items()):
        figure.add_scatter(
            x=[point[0] for point in points],
            y=[point[1] for point in points],
            name=name,
            mode="lines",
            line={
                "color": _COLOURS[place % len(_COLOURS)],
                "width": 2,
                "dash": _DASHES[place % len(_DASHES)],
            },
            hovertemplate="%{x:.1f} s: %{y:,.0f} MiB<extra>" + name + "</extra>",
        )
    for name in dict.fromkeys(band.name for band in phases):
        here = [band for band in phases if band.name == name]
        figure.add_bar(
            name=name,
            orientation="h",
            base=[band.start_s for band in here],
            x=[band.end_s - band.start_s for band in here],
            y=["phase"] * len(here),
            yaxis="y2",
            text=[name] * len(here),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            marker={"color": "var(--raised)", "line": {"color": _LINE, "width": 1}},
            textfont={"color": "var(--text)"},
            showlegend=False,
            hovertemplate="%{base:.1f} s: " + name + "<extra></extra>",
        )
    highest = max([capacity_mib, *(mib for points in devices.values() for _, mib in points)])
    for value, name, dash, below in (
        (margin_mib, "margin", "dash", True),
        (capacity_mib, "capacity", "solid", False),
    ):
        figure.add_hline(
            y=value,
            line={"color": _LINE, "width": 1.5, "dash": dash},
            annotation_text=f"{name} {value:,.0f} MiB",
            annotation_position="bottom left" if below else "top left",
            annotation_bgcolor="var(--surface)",
        )
    figure.update_layout(
        template=None,
        barmode="overlay",
        height=400,
        margin={"l": 8, "r": 8, "t": 16, "b": 84},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0},
        xaxis={
            "title": {"text": "seconds since the first sample", "standoff": 6},
            "anchor": "y2" if phases else "y",
        },
        yaxis={
            "title": "MiB per device",
            "range": [0, highest * 1.1],
            "tickformat": ",d",
            "domain": [0.16 if phases else 0, 1],
        },
        yaxis2={"domain": [0, 0.1], "showgrid": False, "showticklabels": False, "visible": bool(phases)},
        meta={"narrow": {"yaxis": {"title": {"text": ""}, "tickfont": {"size": 10}}, "xaxis": {"nticks": 5}}},
    )
    return figure
