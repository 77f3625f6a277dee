"""A study's history on one line of time: a lane for each kind of record, and the ground before the seal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

LANES = ("protocol and amendments", "seals", "launches", "outcomes", "exclusions", "events")
"""Lanes from top to bottom, by the names that ``studies.services.history`` gives them."""

_COLOURS = ("#0072B2", "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "var(--muted)")
_SYMBOLS = ("square", "star", "triangle-right", "circle", "x", "diamond")
_BEFORE, _AFTER, _LINE = "rgba(0,114,178,0.14)", "rgba(230,159,0,0.10)", "var(--muted)"


@dataclass(frozen=True)
class Moment:
    """Something on a lane. ``ended_at`` is given for what lasted."""

    lane: str
    title: str
    at: dt.datetime
    ended_at: dt.datetime | None = None


def history_figure(
    moments: Sequence[Moment], *, sealed_at: dt.datetime | None, as_of: dt.datetime | None = None
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
            hovertemplate="%{customdata}<br>%{x|%Y-%m-%d %H:%M:%S} UTC<extra>" + lane + "</extra>",
        )
    times = [t for m in moments for t in (m.at, m.ended_at) if t] + [t for t in (sealed_at, as_of) if t]
    if times:
        start, end = min(times), max(times)
        pad = (end - start) * 0.04 or dt.timedelta(minutes=5)
        start, end = start - pad, end + pad
        figure.update_xaxes(range=[start, end])
        if sealed_at is not None:
            _ground(figure, start, sealed_at, _BEFORE, "before the seal")
            _ground(figure, sealed_at, end, _AFTER, "after the seal")
            figure.add_shape(
                type="line",
                x0=sealed_at,
                x1=sealed_at,
                y0=0,
                y1=1,
                yref="paper",
                line={"color": _LINE, "width": 2},
            )
    if as_of is not None:
        figure.add_shape(
            type="line",
            x0=as_of,
            x1=as_of,
            y0=0,
            y1=1,
            yref="paper",
            line={"color": "#D55E00", "width": 2, "dash": "dash"},
            name="as of",
        )
        figure.add_annotation(
            x=as_of,
            y=0,
            yref="paper",
            yanchor="bottom",
            text=f"as of {as_of:%H:%M:%S}",
            showarrow=False,
            xanchor="left",
        )
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=LANES[::-1],
        range=[-0.5, len(LANES) - 0.5],
        automargin=True,
    )
    figure.update_xaxes(title_text="UTC", type="date")
    figure.update_layout(
        template=None, height=330, margin={"l": 8, "r": 8, "t": 30, "b": 8}, showlegend=False
    )
    return figure


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
        text=words,
    )
