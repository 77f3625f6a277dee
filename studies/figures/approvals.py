"""Who approved what: one small group of bars for each held-out family or panel, never put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go

from rlvram_site.marks import MARKS, UNSCORED_APPROVALS, Mark, themed_colour
from studies.text.words import method_words

ROW = 54  # px of one bar with its two lines of words
HEAD = 62  # px of a group's title
NEEDED = 250  # px of width that one group with its words needs at least
GAP = 0.05  # between groups side by side, as a share of the width

APPROVED = (
    "useful",
    "approved_above_margin",
    "approved_failed",
    *UNSCORED_APPROVALS,
)
"""States to the right of zero, from zero outwards. The unscored ones are hatched, on the same scale."""
REJECTED = "rejected_usable"
LEFT = (REJECTED, "undecided_usable", "undecided_other")
"""States to the left of zero, from zero outwards."""


@dataclass(frozen=True)
class MethodCounts:
    """How many configurations of one group are in each state under one method (or rule).

    ``kind`` stands beside the method's name, ``development`` for one. ``links`` leads from a state to the
    configurations that are in it.
    """

    method: str
    counts: dict[str, int] = field(default_factory=dict)
    note: str = ""
    kind: str = ""
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def approved(self) -> int:
        return sum(self.counts.get(state, 0) for state in APPROVED)

    @property
    def left(self) -> int:
        return sum(self.counts.get(state, 0) for state in LEFT)

    @property
    def words(self) -> str:
        """``22 useful · 4 failed``, in the order of the bar; what was wrongly rejected comes last."""
        parts = [f"{self.counts[s]} {MARKS[s].short}" for s in (*APPROVED, *LEFT) if self.counts.get(s)]
        return " · ".join(parts) or "nothing approved"


@dataclass(frozen=True)
class Group:
    """One held-out family, or one panel: its own title, its own denominators."""

    title: str
    note: str
    methods: Sequence[MethodCounts]


def approvals_figure(groups: Sequence[Group]) -> go.Figure:
    """Groups side by side on one scale (one below the other on a phone), bars from zero.

    Approvals stand to the right of zero; usable configurations that were rejected, and what was left
    undecided, to the left. Each bar's counts stand in words above it.
    """
    figure = go.Figure()
    right = max((m.approved for g in groups for m in g.methods), default=0)
    left = max((m.left for g in groups for m in g.methods), default=0)
    room = 0.02 * (left + max(right, 1))  # so that the outermost edge and the zero line are drawn whole
    span = [-left - room, max(right, 1) + room]
    layout: dict = {"annotations": [], "shapes": []}
    narrow: dict = {"annotations": []}
    count, rows = len(groups), max((len(g.methods) for g in groups), default=0)
    for index, group in enumerate(groups):
        suffix = "" if index == 0 else str(index + 1)
        across, down = _place(index, count), _place(count - 1 - index, count, gap=_narrow_gap(count, rows))
        axes = _axes(group, span, suffix)
        layout[f"xaxis{suffix}"] = {**axes["x"], "domain": across}
        layout[f"yaxis{suffix}"] = {**axes["y"], "domain": [0, 1]}
        narrow[f"xaxis{suffix}"] = {"domain": [0, 1]}
        narrow[f"yaxis{suffix}"] = {"domain": down}
        layout["annotations"] += [_title(group, across[0], 1), *_labels(group, suffix)]
        narrow["annotations"] += [_title(group, 0, down[1]), *_labels(group, suffix)]
        for state in (*APPROVED, *LEFT):
            if any(m.counts.get(state) for m in group.methods):
                figure.add_bar(**_bars(group, state, suffix))
    height = HEAD + ROW * rows + 26
    figure.update_layout(
        template=None,
        barmode="relative",
        bargap=0.7,
        showlegend=False,
        height=height,
        margin={"l": 4, "r": 8, "t": HEAD, "b": 26},
        meta={
            "narrow": {"height": HEAD + (ROW * rows + 26) * count + HEAD * (count - 1), **narrow},
            "narrow_below": NEEDED * count,
            "data": _data(groups),
        },
        **layout,
    )
    return figure


def _data(groups: Sequence[Group]) -> dict:
    """Every count as a row of a table."""
    found = [
        (group, method, state, method.counts[state])
        for group in groups
        for method in group.methods
        for state in (*APPROVED, *LEFT)
        if method.counts.get(state)
    ]
    return {
        "columns": ["What became of them", "Targets", "Method", "Configurations"],
        "rows": [
            [MARKS[state].word, group.title, method_words(method.method), number]
            for group, method, state, number in found
        ],
        "links": [method.links.get(state, "") for _, method, state, _ in found],
    }


def hatching(mark: Mark, solidity: float, size: int) -> dict:
    """The pattern of a mark's area; on a hollow one the dots have the mark's own colour."""
    if not mark.pattern:
        return {}
    pattern: dict = {"shape": mark.pattern, "solidity": solidity, "size": size}
    return {**pattern, "fgcolor": themed_colour(mark)} if mark.hollow else pattern


def _place(index: int, count: int, gap: float = GAP) -> list[float]:
    width = (1 - gap * (count - 1)) / count
    start = index * (width + gap)
    return [start, min(1.0, start + width)]


def _narrow_gap(count: int, rows: int) -> float:
    """The share of the stacked height that one group's title needs."""
    return (HEAD + 26) / max((ROW * rows + 26) * count + HEAD * (count - 1), 1)


def _axes(group: Group, span: list[float], suffix: str) -> dict:
    names = [method.method for method in group.methods]
    return {
        "x": {
            "range": span, "anchor": f"y{suffix}", "zeroline": True, "zerolinewidth": 1.5, "fixedrange": True,
            "tickformat": "d", "nticks": 6, "ticklabelposition": "outside",
        },
        "y": {
            "range": [len(names) - 0.7, -0.85], "anchor": f"x{suffix}", "showticklabels": False,
            "showgrid": False, "zeroline": False, "fixedrange": True,
        },
    }  # fmt: skip


def _title(group: Group, x: float, y: float) -> dict:
    return {
        "x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 8,
        "align": "left", "showarrow": False, "text": f"<b>{group.title}</b><br>{group.note}",
    }  # fmt: skip


def _labels(group: Group, suffix: str) -> list[dict]:
    """Method and counts in words, above each bar."""
    return [
        {
            "x": 0, "xref": f"x{suffix} domain", "xanchor": "left", "y": position - 0.14,
            "yref": f"y{suffix}", "yanchor": "bottom", "showarrow": False, "align": "left",
            "font": {"size": 12}, "bgcolor": "var(--surface)", "borderpad": 1,
            "text": f"<b>{method_words(method.method)}</b>{f' · {method.kind}' if method.kind else ''}"
            f"<br>{method.note or method.words}",
        }
        for position, method in enumerate(group.methods)
    ]  # fmt: skip


def _bars(group: Group, state: str, suffix: str) -> dict:
    mark = MARKS[state]
    sign = -1 if state in LEFT else 1
    counts = [method.counts.get(state, 0) for method in group.methods]
    return {
        "name": mark.word,
        "orientation": "h",
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "y": list(range(len(counts))),
        "x": [sign * count if count else None for count in counts],
        "marker": {
            "color": "rgba(0,0,0,0)" if mark.hollow else themed_colour(mark),
            "line": {
                "color": mark.line or (mark.colour if mark.pattern or mark.hollow else "var(--surface)"),
                "width": 2 if mark.line or mark.hollow else 1,
            },
            "pattern": hatching(mark, 0.2, 7),
        },
        "text": [mark.glyph if count else "" for count in counts],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "constraintext": "none",
        "textfont": {
            "size": 11, "color": "var(--text)" if mark.hollow or mark.pattern else "#111111",
            "shadow": "auto" if mark.pattern else "none",
        },
        "customdata": [[method_words(m.method), m.counts.get(state, 0)] for m in group.methods],
        "hovertemplate": (
            f"{group.title}<br><b>%{{customdata[0]}}</b>: %{{customdata[1]}} {mark.word}<extra></extra>"
        ),
        "meta": {"state": state, "links": [m.links.get(state, "") for m in group.methods]},
    }  # fmt: skip
