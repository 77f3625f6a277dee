"""What became of a large panel's configurations, group by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from rlvram_site.marks import LABEL_MARKS, MARKS, Mark, themed_colour
from studies.figures.approvals import hatching

_ROW = 40  # px of a bar with its words above it
_HEAD = 40  # px of the axis
_FILL = 0.42  # share of a row that the bar takes
ORDER = ("within_margin", "above_margin", "memory_failure", "unresolved")


@dataclass(frozen=True)
class StateGroup:
    """Configurations of one workload, level and GPU count, counted by what was observed of them."""

    words: str
    counts: Mapping[str, int]
    link: str = ""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def mark_of(state: str) -> Mark:
    """How a label, or its absence, looks."""
    return LABEL_MARKS.get(state) or MARKS[state]


def groups_figure(groups: Sequence[StateGroup]) -> go.Figure:
    """Zero-based stacked bars in the order given; each group's name and counts stand above its bar."""
    figure = go.Figure()
    places = list(range(len(groups)))
    for state in ORDER:
        mark = mark_of(state)
        figure.add_bar(
            name=mark.word, orientation="h", y=places, x=[group.counts.get(state, 0) for group in groups],
            width=_FILL,
            marker={"color": themed_colour(mark), "pattern": hatching(mark, 0.14, 9), "line": {"width": 0}},
            customdata=[[group.words] for group in groups],
            hovertemplate=f"%{{customdata[0]}}<br>%{{x}} {mark.word}<extra></extra>",
            meta={"links": [group.link for group in groups]},
        )  # fmt: skip
    figure.update_layout(
        template=None, barmode="stack", showlegend=False, height=_HEAD + _ROW * len(groups),
        margin={"l": 4, "r": 8, "t": 8, "b": 28},
        xaxis={"fixedrange": True, "rangemode": "tozero", "zeroline": True, **_whole_ticks(groups)},
        yaxis={"range": [len(groups) - 0.5, -0.7], "showticklabels": False, "showgrid": False,
               "zeroline": False, "fixedrange": True},
        annotations=[
            {"x": 0, "y": place - _FILL / 2, "xanchor": "left", "yanchor": "bottom", "showarrow": False,
             "text": f"<b>{group.words}</b>: {_counts(group)}", "font": {"size": 11.5}}
            for place, group in enumerate(groups)
        ],
    )  # fmt: skip
    return figure


def _whole_ticks(groups: Sequence[StateGroup]) -> dict[str, int]:
    """Few configurations have a tick each; plotly alone would count in parts of one."""
    return {"dtick": 1} if max((group.total for group in groups), default=0) <= 6 else {}


def _counts(group: StateGroup) -> str:
    return " · ".join(
        f"{mark_of(state).glyph} {group.counts[state]} {mark_of(state).word}"
        for state in ORDER
        if group.counts.get(state)
    )
