"""By how much each admission decision missed: one bar for each, from zero, linear, GiB, sorted.

Admissions and refusals have scales of their own: a refusal may be hundreds of GiB off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from admission.figures.words import plain
from admission.marks import CLASS_MARKS
from rlvram_site.marks import GREY

GIB = 2**30
ROW = 44  # px of one decision: its name above, its bar below
HEAD = 36  # px of a group's title
FOOT = 40  # px of a group's axis
LONG, SHORT = 78, 38
"""Characters of a name on a wide page and on a phone."""
TITLES = {
    False: "Admitted: right of zero it took more than it was given",
    True: "Refused: how far the requirement was above what was usable",
}
SHORT_TITLES = {False: "Admitted: right of zero it took more", True: "Refused: required above usable"}


@dataclass(frozen=True)
class DecisionGap:
    """One decision. ``size`` is bytes; ``is_bound``: it may be less; ``link`` is its own page."""

    title: str
    class_name: str
    refused: bool
    size: int
    against: str
    is_bound: bool
    link: str

    @property
    def gib(self) -> float:
        return self.size / GIB

    @property
    def words(self) -> str:
        """``+0.940 GiB (1,009,317,315 B) short: …``."""
        bound = "at most " if self.is_bound else ""
        return f"{bound}{self.gib:+,.3f} GiB"


def gaps_figure(gaps: Sequence[DecisionGap]) -> go.Figure:
    """Two groups, one below the other, each on its own linear scale; the largest gap is on top."""
    groups = [
        sorted((gap for gap in gaps if gap.refused == refused), key=lambda gap: -gap.size)
        for refused in (False, True)
    ]
    shown = [group for group in groups if group]
    heights = [HEAD + ROW * len(group) + FOOT for group in shown]
    total = sum(heights)
    figure = go.Figure()
    layout: dict = {"annotations": []}
    narrow: dict = {"annotations": []}
    top = 1.0
    for index, (group, height) in enumerate(zip(shown, heights, strict=True)):
        suffix = "" if index == 0 else str(index + 1)
        bottom = top - height / total
        room = [bottom + FOOT / total, top - HEAD / total]
        _bars(figure, group, suffix)
        layout[f"xaxis{suffix}"] = {
            "anchor": f"y{suffix}", "zeroline": True, "zerolinewidth": 2, "fixedrange": True,
            "range": _range(group), "title": {"text": "GiB", "standoff": 4}, "nticks": 7, "tickformat": ",",
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}", "domain": room, "range": [len(group) - 0.45, -0.75], "visible": False,
            "fixedrange": True,
        }  # fmt: skip
        for place, characters, titles in ((layout, LONG, TITLES), (narrow, SHORT, SHORT_TITLES)):
            place["annotations"].append(_title(titles[group[0].refused], top))
            place["annotations"] += [_label(gap, y, suffix, characters) for y, gap in enumerate(group)]
        top = bottom
    figure.update_layout(
        template=None,
        height=total or HEAD,
        margin={"l": 8, "r": 12, "t": 4, "b": 8},
        showlegend=False,
        meta={"narrow": narrow, "data": _data(shown)},
        **layout,
    )
    return figure


def _bars(figure: go.Figure, group: Sequence[DecisionGap], suffix: str) -> None:
    marks = [CLASS_MARKS[gap.class_name] for gap in group]
    colours = ["var(--quiet)" if mark.colour == GREY else mark.colour for mark in marks]
    figure.add_bar(
        orientation="h",
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
        name=TITLES[group[0].refused],
        x=[gap.gib for gap in group],
        y=list(range(len(group))),
        width=0.34,
        marker={
            "color": colours,
            "line": {"color": colours, "width": 1.5},
            "pattern": {
                "shape": [
                    "/" if gap.is_bound or mark.pattern else ""
                    for gap, mark in zip(group, marks, strict=True)
                ],
                "solidity": 0.3,
                "size": 7,
            },
        },
        hovertext=[f"{plain(gap.title)}<br>{gap.words}, {gap.size:,} B<br>{gap.against}" for gap in group],
        hovertemplate="%{hovertext}<extra></extra>",
        meta={"links": [gap.link for gap in group]},
    )


def _range(group: Sequence[DecisionGap]) -> list[float]:
    """From the smallest to the largest gap, zero among them, with room for what is drawn at the ends."""
    low, high = min(0.0, *(gap.gib for gap in group)), max(0.0, *(gap.gib for gap in group))
    room = 0.03 * ((high - low) or 1)
    return [low - room, high + room]


def _title(text: str, top: float) -> dict:
    return {
        "x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper", "yanchor": "top",
        "showarrow": False, "align": "left", "text": f"<b>{text}</b>", "font": {"size": 13},
    }  # fmt: skip


def _label(gap: DecisionGap, y: int, suffix: str, characters: int) -> dict:
    """The decision's mark, name and gap above its bar."""
    mark = CLASS_MARKS[gap.class_name]
    return {
        "x": 0, "xref": f"x{suffix} domain", "xanchor": "left", "y": y - 0.2, "yref": f"y{suffix}",
        "yanchor": "bottom", "showarrow": False, "align": "left", "font": {"size": 12},
        "bgcolor": "var(--surface)", "borderpad": 1,
        "text": f"{mark.glyph} <b>{plain(gap.title, characters - 16)}</b> · {gap.words}",
    }  # fmt: skip


def _data(groups: Sequence[Sequence[DecisionGap]]) -> dict:
    rows = [gap for group in groups for gap in group]
    return {
        "columns": ["Decision", "Class", "Gap in GiB", "Gap in bytes", "What it is"],
        "rows": [
            [gap.title, CLASS_MARKS[gap.class_name].word, round(gap.gib, 6), gap.size, gap.against]
            for gap in rows
        ],
        "links": [gap.link for gap in rows],
    }
