"""A study's history on one line of time: a lane for each kind of record, and the ground before the seal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

LANES = ("protocol and amendments", "seals", "launches", "outcomes", "exclusions", "events")
"""Lanes from top to bottom, by the names that ``studies.services.history.timeline`` gives them."""

_COLOURS = ("var(--focus)", "var(--focus)", "var(--focus)", "var(--text)", "var(--text)", "var(--muted)")
_SYMBOLS = ("square", "star", "triangle-right", "circle", "x", "diamond")
_BEFORE, _AFTER, _LINE = "rgba(0,114,178,0.14)", "rgba(230,159,0,0.10)", "var(--muted)"


@dataclass(frozen=True)
class HistoryMark:
    """Something on a lane. ``ended_at`` is given for what lasted."""

    lane: str
    title: str
    at: dt.datetime
    ended_at: dt.datetime | None = None
    link: str = ""


def history_figure(
    moments: Sequence[HistoryMark], *, sealed_at: dt.datetime | None, as_of: dt.datetime | None = None
) -> go.Figure:
    """Moments by lane, UTC. Before and after ``sealed_at`` have different ground, each with its words;
    ``as_of`` draws a cursor."""
    figure = go.Figure()
    for lane, colour, symbol in zip(LANES, _COLOURS, _SYMBOLS, strict=True):
        here = [moment for moment in moments if moment.lane == lane]
        if not here:
            continue
        spans = [moment for moment in here if moment.ended_at is not None]
        if spans:
            x, y = [], []
            for moment in spans:
                x += [moment.at, moment.ended_at, None]
                y += [lane, lane, None]
            figure.add_scatter(
                x=x,
                y=y,
                mode="lines",
                line={"color": colour, "width": 6},
                opacity=0.45,
                showlegend=False,
                hoverinfo="skip",
                name=f"{lane}, how long",
            )
        figure.add_scatter(
            x=[moment.at for moment in here],
            y=[lane] * len(here),
            mode="markers",
            name=lane,
            marker={
                "color": colour,
                "symbol": symbol,
                "size": 10,
                "line": {"width": 1, "color": "var(--surface)"},
            },
            customdata=[moment.title for moment in here],
            meta={"links": [moment.link for moment in here]},
            hovertemplate="%{customdata}<br>%{x|%Y-%m-%d %H:%M:%S} UTC<extra>" + lane + "</extra>",
        )
    times = [t for m in moments for t in (m.at, m.ended_at) if t] + ([sealed_at] if sealed_at else [])
    if times:
        start, end = _range(min(times), max(times), as_of)
        figure.update_xaxes(range=[start, end])
        if sealed_at is not None:
            _ground(figure, start, sealed_at, _BEFORE, "before the seal")
            _ground(figure, sealed_at, end, _AFTER, "after the seal")
            figure.add_shape(**_upright(sealed_at), line={"color": _LINE, "width": 2}, name="seal")
        if as_of is not None:
            # A cursor far outside stands at the edge, so that the line itself stays readable.
            place = min(max(as_of, start), end)
            figure.add_shape(
                **_upright(place), line={"color": "var(--text)", "width": 2, "dash": "dash"}, name="as of"
            )
            figure.add_annotation(
                x=place,
                y=0,
                yref="paper",
                yanchor="bottom",
                text=f"as of {as_of:%Y-%m-%d %H:%M:%S}",
                showarrow=False,
                xanchor="right" if place - start > end - place else "left",
                bgcolor="var(--surface)",
            )
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=LANES[::-1],
        range=[-0.8, len(LANES) - 0.5],
        automargin=True,
    )
    figure.update_xaxes(title_text="UTC", type="date")
    figure.update_layout(
        template=None, height=330, margin={"l": 8, "r": 8, "t": 30, "b": 8}, showlegend=False
    )
    figure.update_layout(meta={"narrow": _narrow(figure), "data": _data(moments)})
    return figure


def _data(moments: Sequence[HistoryMark]) -> dict:
    """Every moment as a row of a table, by time."""
    shown = sorted(moments, key=lambda moment: moment.at)
    return {
        "columns": ["What", "Lane", "At (UTC)", "Until (UTC)"],
        "rows": [
            [item.title, item.lane, f"{item.at:%Y-%m-%d %H:%M:%S}",
             f"{item.ended_at:%Y-%m-%d %H:%M:%S}" if item.ended_at else ""]
            for item in shown
        ],
        "links": [item.link for item in shown],
    }  # fmt: skip


@dataclass(frozen=True)
class HistoryBin:
    """So many records of one lane in one unit of time."""

    lane: str
    at: dt.datetime
    number: int


def binned_figure(bins: Sequence[HistoryBin], unit: str, *, sealed_at: dt.datetime | None) -> go.Figure:
    """Records by lane and unit of time, UTC; a mark's area says how many."""
    figure = history_figure(
        [HistoryMark(item.lane, _records(item.number, unit), item.at) for item in bins], sealed_at=sealed_at
    )
    numbers = {(item.lane, item.at): item.number for item in bins}
    largest = max(numbers.values(), default=1)
    for trace in figure.data:
        sizes = [max(5.0, 26 * (numbers[trace.name, at] / largest) ** 0.5) for at in trace.x]
        trace.marker.size = sizes
        trace.marker.symbol = "circle"
    return figure


def _records(number: int, unit: str) -> str:
    return f"{number} record{'' if number == 1 else 's'} in this {unit}"


def _range(
    first: dt.datetime, last: dt.datetime, as_of: dt.datetime | None
) -> tuple[dt.datetime, dt.datetime]:
    """From the first to the last moment with some room; a cursor not far outside is taken in."""
    span = max(last - first, dt.timedelta(minutes=5))
    if as_of is not None and first - span <= as_of <= last + span:
        first, last = min(first, as_of), max(last, as_of)
    return first - span * 0.04, last + span * 0.04


def _upright(moment: dt.datetime) -> dict:
    return {"type": "line", "x0": moment, "x1": moment, "y0": 0, "y1": 1, "yref": "paper"}


def _narrow(figure: go.Figure) -> dict:
    """On a phone: lanes by their first word, grounds without "the seal"."""
    annotations = [item.to_plotly_json() for item in figure.layout.annotations]
    for item in annotations:
        item["text"] = item["text"].removesuffix(" the seal")
    return {
        "annotations": annotations,
        "yaxis": {
            "tickvals": list(LANES),
            "ticktext": [lane.split()[0] for lane in LANES],
            "tickfont": {"size": 11},
        },
        "xaxis": {"nticks": 4},
    }


def _ground(figure: go.Figure, start: dt.datetime, end: dt.datetime, colour: str, words: str) -> None:
    figure.add_shape(
        type="rect",
        x0=start,
        x1=end,
        y0=0,
        y1=1,
        yref="paper",
        layer="below",
        line={"width": 0},
        fillcolor=colour,
        name=words,
    )
    figure.add_annotation(
        x=start if words.startswith("after") else end,
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        xanchor="left" if words.startswith("after") else "right",
        xshift=6 if words.startswith("after") else -6,
        text=words,
    )
