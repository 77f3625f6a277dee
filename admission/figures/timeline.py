"""An issue in time: a lane for each kind of statement. What was superseded is drawn muted."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from admission.figures.words import plain
from admission.marks import LANES

LANE_WORDS = {
    "status": "status",
    "issue": "closed, reopened",
    "head": "heads",
    "review": "reviews",
    "correction": "corrections",
    "witness": "witnesses",
    "comment": "comments",
}


@dataclass(frozen=True)
class Moment:
    """Something on a lane. ``whole_day`` moments of one day are spread over it: no hour is known."""

    lane: str
    title: str
    when: str
    at: dt.datetime
    day: dt.date
    whole_day: bool = True
    muted: bool = False
    current: bool = False
    link: str = ""


def timeline_figure(
    moments: Sequence[Moment],
    comments: Sequence[tuple[dt.date, int]] = (),
    as_of: dt.date | None = None,
) -> go.Figure:
    """``moments`` by lane and ``comments`` as one mark a day; ``as_of`` draws a line at its end."""
    lanes = [
        lane for lane in LANES if any(m.lane == lane for m in moments) or (lane == "comment" and comments)
    ]
    place = {lane: len(lanes) - 1 - number for number, lane in enumerate(lanes)}
    figure = go.Figure()
    for lane in lanes:
        for muted in (True, False):
            here = [m for m in moments if m.lane == lane and m.muted == muted]
            if here:
                _lane(figure, lane, here, place[lane], muted)
    if comments:
        figure.add_scatter(
            x=[_noon(day) for day, _ in comments],
            y=[place["comment"]] * len(comments),
            mode="markers+text",
            text=[str(number) for _, number in comments],
            textposition="middle center",
            textfont={"size": 10},
            marker={
                "symbol": "circle-open", "color": "var(--muted)", "line": {"width": 1.5},
                "size": [min(34, 16 + number) for _, number in comments],
            },
            hovertext=[f"{number} comments, {day}" for day, number in comments],
            hovertemplate="%{hovertext}<extra></extra>",
            name=LANE_WORDS["comment"],
        )  # fmt: skip
    if as_of:
        end = dt.datetime.combine(as_of + dt.timedelta(days=1), dt.time(), dt.UTC)
        figure.add_vline(x=end.timestamp() * 1000, line={"color": "var(--focus)", "width": 2})
        figure.add_annotation(
            x=end,
            y=1,
            yref="paper",
            yanchor="bottom",
            showarrow=False,
            text=f"end of {as_of}",
            xanchor="right",
        )
    figure.update_layout(
        template=None,
        height=46 * max(1, len(lanes)) + 80,
        margin={"l": 8, "r": 8, "t": 24, "b": 36},
        showlegend=False,
        dragmode="zoom",
        xaxis={"type": "date", "showgrid": True},
        yaxis={
            "tickmode": "array", "tickvals": [place[lane] for lane in lanes],
            "ticktext": [LANE_WORDS[lane] for lane in lanes], "range": [-0.6, len(lanes) - 0.4],
            "fixedrange": True, "zeroline": False, "automargin": True,
        },
        meta={
            "data": _data(moments, comments),
            "narrow": {"dragmode": False, "yaxis": {"tickfont": {"size": 11}}, "xaxis": {"nticks": 4}},
        },
    )  # fmt: skip
    return figure


def _lane(figure: go.Figure, lane: str, here: Sequence[Moment], y: int, muted: bool) -> None:
    symbol, colour = LANES[lane]
    figure.add_scatter(
        x=_spread(here),
        y=[y] * len(here),
        mode="markers",
        name=f"{LANE_WORDS[lane]}, superseded" if muted else LANE_WORDS[lane],
        opacity=0.55 if muted else 1,
        marker={
            "symbol": [f"{symbol}-open" if muted and not symbol.endswith("-open") else symbol] * len(here),
            "color": colour,
            "size": [17 if m.current else 11 for m in here],
            "opacity": 1,
            "line": {"color": colour, "width": 1.5},
        },
        hovertext=[f"{plain(m.when)}<br>{plain(m.title, 110)}" for m in here],
        hovertemplate="%{hovertext}<extra></extra>",
        meta={"links": [m.link for m in here]},
    )


def _data(moments: Sequence[Moment], comments: Sequence[tuple[dt.date, int]]) -> dict:
    """The same in a table, newest first."""
    shown = sorted(moments, key=lambda moment: moment.at, reverse=True)
    rows = [[m.day.isoformat(), LANE_WORDS[m.lane], m.title, "superseded" if m.muted else ""] for m in shown]
    rows += [[day.isoformat(), LANE_WORDS["comment"], f"{number} comments", ""] for day, number in comments]
    return {
        "columns": ["Day", "Kind", "What", "Standing"],
        "rows": rows,
        "links": [m.link for m in shown] + [""] * len(comments),
    }


def _spread(moments: Sequence[Moment]) -> list[dt.datetime]:
    by_day: dict[dt.date, list[int]] = defaultdict(list)
    for number, moment in enumerate(moments):
        if moment.whole_day:
            by_day[moment.day].append(number)
    at = [moment.at for moment in moments]
    for day, numbers in by_day.items():
        start = dt.datetime.combine(day, dt.time(), dt.UTC)
        for position, number in enumerate(numbers, 1):
            at[number] = start + dt.timedelta(hours=24 * position / (len(numbers) + 1))
    return at


def _noon(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(12), dt.UTC)
