"""How many configurations of each group have which label: zero-based stacked bars."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from rlvram_site.marks import LABEL_MARKS

_PATTERNS = {"not_repeated": "/"}


def labels_figure(counts: Mapping[str, Mapping[str, int]], *, title: str) -> go.Figure:
    """``counts`` maps a group's name to its number of configurations by label; ``title`` names the axis."""
    figure = go.Figure()
    groups = list(counts)
    for label, mark in LABEL_MARKS.items():
        values = [counts[group].get(label, 0) for group in groups]
        if not any(values):
            continue
        figure.add_bar(
            name=f"{mark.glyph} {mark.word}",
            orientation="h",
            y=groups,
            x=values,
            text=[f"{mark.glyph} {value}" if value else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "#000000"},
            marker={
                "color": mark.colour,
                "pattern": {"shape": _PATTERNS.get(label, ""), "fgcolor": "#444444", "fillmode": "overlay"},
            },
            hovertemplate="%{y}: %{x} " + mark.word + "<extra></extra>",
        )
    figure.update_layout(
        template=None,
        barmode="stack",
        height=100 + 40 * len(groups),
        margin={"l": 8, "r": 8, "t": 8, "b": 74},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "traceorder": "normal"},
        yaxis={"type": "category", "categoryorder": "array", "categoryarray": groups[::-1]},
        xaxis={"title": {"text": title, "standoff": 6}, "rangemode": "tozero", "tickformat": ",d"},
    )
    return figure
