"""GPU time in scopes that overlap: bars beside each other on one scale, never stacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from rlvram_site.marks import BLUE, SKY

ROW = 46  # px of one bar with its words


@dataclass(frozen=True)
class ScopeBar:
    """One scope. ``gpu_hours`` sums the known records, ``unknown`` counts those without a time."""

    name: str
    gpu_hours: float
    unknown: int = 0
    link: str = ""

    @property
    def words(self) -> str:
        missing = f", {self.unknown} not recorded" if self.unknown else ""
        return f"<b>{self.name}</b>: {self.gpu_hours:,.2f} GPU-hours{missing}"


def costs_figure(bars: Sequence[ScopeBar]) -> go.Figure:
    """Zero-based horizontal bars, each under its words; an incomplete one is hatched."""
    longest = max((bar.gpu_hours for bar in bars), default=0) or 1
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        y=list(range(len(bars))),
        x=[bar.gpu_hours for bar in bars],
        marker={
            "color": [SKY if bar.unknown else BLUE for bar in bars],
            "pattern": {"shape": ["/" if bar.unknown else "" for bar in bars], "solidity": 0.3, "size": 6},
        },
        customdata=[[bar.name, bar.unknown] for bar in bars],
        hovertemplate="%{customdata[0]}<br>%{x:,.3f} GPU-hours<extra></extra>",
        meta={"links": [bar.link for bar in bars]},
    )
    figure.update_layout(
        meta={
            "data": {
                "columns": ["Scope", "GPU-hours", "Records without a time"],
                "rows": [[bar.name, bar.gpu_hours, bar.unknown] for bar in bars],
                "links": [bar.link for bar in bars],
            }
        },
        template=None,
        bargap=0.62,
        showlegend=False,
        height=ROW * len(bars) + 44,
        margin={"l": 4, "r": 12, "t": 8, "b": 36},
        xaxis={
            "range": [-0.01 * longest, 1.04 * longest], "fixedrange": True,
            "title": {"text": "GPU-hours", "font": {"size": 12}},
            "zeroline": True, "nticks": 6,
        },
        yaxis={
            "range": [len(bars) - 0.6, -0.85], "showticklabels": False, "showgrid": False, "zeroline": False,
            "fixedrange": True,
        },
        annotations=[
            {
                "x": 0, "xref": "x domain", "xanchor": "left",
                "y": position - 0.2, "yref": "y", "yanchor": "bottom",
                "showarrow": False, "align": "left", "font": {"size": 12}, "text": bar.words,
                "bgcolor": "var(--surface)", "borderpad": 1,
            }
            for position, bar in enumerate(bars)
        ],
    )  # fmt: skip
    return figure
