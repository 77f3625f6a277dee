"""Peaks against margin and capacity: predicted beside measured, and one configuration's own.

All peaks are MiB per device. What has no peak has no height: a failure, an unresolved target and a
prediction without a peak stand on rails beside the scale, never at an imputed value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from rlvram_site.marks import GREY, MARKS, PURPLE

NO_COMPLETED_PEAK = "no completed peak"
UNRESOLVED = "unresolved"
NO_PREDICTED_PEAK = "no predicted peak"
_LINE = "var(--muted)"


@dataclass(frozen=True)
class PeakPoint:
    """One target under one method.

    Attributes:
        configuration_id: the target.
        state: key of ``rlvram_site.marks.MARKS``.
        predicted_mib: the method's peak; None where it gives none.
        measured_mib: largest completed peak; None unless the target's three processes completed.
        resolved: whether the target has a label. Decides on which rail a target without peak stands.
    """

    configuration_id: str
    state: str
    predicted_mib: float | None
    measured_mib: float | None
    resolved: bool
    link: str = ""

    @property
    def rail(self) -> str | None:
        """The rail that takes the place of a height, or None for a target with a completed peak."""
        if self.measured_mib is not None:
            return None
        return NO_COMPLETED_PEAK if self.resolved else UNRESOLVED


def predicted_against_measured(
    points: Sequence[PeakPoint], *, margin_mib: float, capacity_mib: float
) -> go.Figure:
    """Predicted peak to the right, completed peak upwards, with the identity line.

    Failures lie on a rail above the scale, targets without a label on a second one; a prediction without a
    peak stands on a rail to the right. One trace per state; points that coincide carry their number.
    """
    rails = [rail for rail in (NO_COMPLETED_PEAK, UNRESOLVED) if any(p.rail == rail for p in points)]
    aside = any(point.predicted_mib is None for point in points)
    rows, columns = (2 if rails else 1), (2 if aside else 1)
    figure = go.Figure().set_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes=True,
        shared_yaxes=True,
        row_heights=[0.1 + 0.09 * len(rails), 0.9 - 0.09 * len(rails)] if rails else None,
        column_widths=[0.84, 0.16] if aside else None,
        horizontal_spacing=0.02,
        vertical_spacing=0.03,
    )
    low, high = _scale(points, margin_mib, capacity_mib)
    figure.add_scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        name="predicted = measured",
        hoverinfo="skip",
        line={"color": _LINE, "width": 1},
        row=rows,
        col=1,
    )
    for state in MARKS:
        for row in range(1, rows + 1):
            for column in range(1, columns + 1):
                here = [
                    p
                    for p in points
                    if p.state == state
                    and (p.rail is None) == (row == rows)
                    and (p.predicted_mib is None) == (column == 2)
                ]
                if here:
                    figure.add_trace(_points(state, here), row=row, col=column)
    shown: set[str] = set()
    for trace in figure.data:
        trace.showlegend = trace.name not in shown
        shown.add(trace.name)
    _limits(figure, rows, margin_mib, capacity_mib)
    figure.update_xaxes(range=[low, high], row=rows, col=1, title_text="predicted peak, MiB", tickformat=",d")
    figure.update_yaxes(range=[low, high], row=rows, col=1, title_text="measured peak, MiB", tickformat=",d")
    if rails:
        # Without anything on it an axis would lose its words.
        figure.add_scatter(x=[None] * len(rails), y=rails, showlegend=False, hoverinfo="skip", row=1, col=1)
        figure.update_xaxes(range=[low, high], row=1, col=1)
        figure.update_yaxes(
            row=1,
            type="category",
            showgrid=False,
            categoryorder="array",
            categoryarray=rails[::-1],
            range=[-0.5, len(rails) - 0.5],
        )
    if aside:
        figure.update_xaxes(
            col=2,
            type="category",
            range=[-0.5, 0.5],
            tickangle=0,
            tickvals=[NO_PREDICTED_PEAK],
            ticktext=[NO_PREDICTED_PEAK.replace(" peak", "<br>peak")],
        )
    figure.update_layout(
        template=None,
        height=500,
        margin={"l": 8, "r": 8, "t": 16, "b": 90},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0},
        meta={
            "narrow": {"height": 460, "margin": {"b": 130}, **_narrow_axes(figure)},
            "data": _data(points),
        },
    )
    return figure


def _narrow_axes(figure: go.Figure) -> dict:
    """On a phone: few and small tick labels, and no words beside the measured scale."""
    axes = {}
    for name, axis in figure.layout.to_plotly_json().items():
        if name.startswith(("xaxis", "yaxis")):
            axes[name] = {"tickfont": {"size": 10}, "nticks": 4, "tickangle": 0}
            if name.startswith("y") and "title" in axis:
                axes[name]["title"] = {"text": ""}
            if axis.get("categoryarray") and NO_COMPLETED_PEAK in axis["categoryarray"]:
                shown = list(axis["categoryarray"])
                axes[name] |= {
                    "tickvals": shown,
                    "ticktext": [text.replace(NO_COMPLETED_PEAK, "no completed<br>peak") for text in shown],
                }
    return axes


def _data(points: Sequence[PeakPoint]) -> dict:
    """Every target as a row of a table; what has no peak says on which rail it stands."""
    return {
        "columns": ["Configuration", "State", "Predicted MiB", "Measured MiB"],
        "rows": [
            [
                p.configuration_id,
                MARKS[p.state].word,
                NO_PREDICTED_PEAK if p.predicted_mib is None else round(p.predicted_mib, 3),
                p.rail if p.measured_mib is None else round(p.measured_mib, 3),
            ]
            for p in points
        ],
        "links": [p.link for p in points],
    }


def _points(state: str, points: Sequence[PeakPoint]) -> go.Scatter:
    mark = MARKS[state]
    # The light grey of cells would vanish as a thin mark on the page's own ground.
    colour = "var(--muted)" if mark.colour == GREY else mark.colour
    places = [
        (
            p.predicted_mib if p.predicted_mib is not None else NO_PREDICTED_PEAK,
            p.measured_mib if p.rail is None else p.rail,
        )
        for p in points
    ]
    count = Counter(places)
    seen: set[tuple] = set()
    labels = []
    for place in places:
        labels.append(f"×{count[place]}" if count[place] > 1 and place not in seen else "")
        seen.add(place)
    return go.Scatter(
        x=[place[0] for place in places],
        y=[place[1] for place in places],
        name=mark.word,
        legendgroup=state,
        mode="markers+text",
        text=labels,
        textposition="middle right",
        customdata=[p.configuration_id for p in points],
        meta={"links": [p.link for p in points]},
        marker={
            "symbol": mark.symbol,
            "size": 11,
            # An open symbol is drawn in the marker's own colour, so a mark's edge has to be that.
            "color": mark.line or colour,
            "line": {"width": 3 if mark.line or mark.hollow else 1, "color": mark.line or colour},
        },
        cliponaxis=False,
        hovertemplate="%{customdata}<br>predicted %{x}<br>measured %{y}<extra>" + mark.word + "</extra>",
    )


def _scale(points: Sequence[PeakPoint], margin_mib: float, capacity_mib: float) -> tuple[float, float]:
    values = [v for p in points for v in (p.predicted_mib, p.measured_mib) if v is not None]
    values += [margin_mib, capacity_mib]
    pad = 0.06 * (max(values) - min(values))
    return min(values) - pad, max(values) + pad


def _limits(figure: go.Figure, rows: int, margin_mib: float, capacity_mib: float) -> None:
    for value, name, dash, anchor in (
        (margin_mib, "margin", "dash", "top"),
        (capacity_mib, "capacity", "solid", "bottom"),
    ):
        line = {"dash": dash, "width": 1.5, "color": _LINE}
        figure.add_hline(
            y=value,
            line=line,
            row=rows,
            col=1,
            annotation_text=f"{name} {value:,.0f} MiB",
            annotation_bgcolor="var(--surface)",
            annotation_position="top left" if anchor == "bottom" else "bottom left",
        )
        figure.add_vline(x=value, line=line, row=rows, col=1)


@dataclass(frozen=True)
class PeakRow:
    """One line of a configuration's own peaks: a prediction or a process.

    ``kind``: ``predicted``, ``completed``, ``failed`` or ``unresolved``; only the first two may have a peak.
    """

    name: str
    kind: str
    peak_mib: float | None
    low_mib: float | None = None
    high_mib: float | None = None
    words: str = ""


_ROW_MARKS = {
    "predicted": ("line-ns-open", "predicted"),
    "neighbour": ("line-ns-open", "measured neighbour, moved"),
    "neighbour_failed": ("triangle-right-open", "failed neighbour: more than"),
    "completed": ("circle", "completed"),
    "failed": ("x", "failed, " + NO_COMPLETED_PEAK),
    "unresolved": ("circle-open-dot", "unresolved"),
}


def own_peaks(rows: Sequence[PeakRow], *, margin_mib: float, capacity_mib: float) -> go.Figure:
    """A dot line per prediction and process; what has no peak stands on a rail right of the scale."""
    figure = go.Figure().set_subplots(
        rows=1, cols=2, shared_yaxes=True, column_widths=[0.78, 0.22], horizontal_spacing=0.02
    )
    colours = {
        "predicted": "#0072B2",
        "neighbour": PURPLE,
        "neighbour_failed": MARKS["approved_failed"].colour,
        "completed": MARKS["useful"].colour,
        "failed": MARKS["approved_failed"].colour,
        "unresolved": _LINE,
    }
    for kind, (symbol, word) in _ROW_MARKS.items():
        marker = {
            "symbol": symbol,
            "size": 13,
            "color": colours[kind],
            "line": {"width": 3, "color": colours[kind]},
        }
        with_peak = [row for row in rows if row.kind == kind and row.peak_mib is not None]
        without = [row for row in rows if row.kind == kind and row.peak_mib is None]
        if with_peak:
            figure.add_scatter(
                x=[row.peak_mib for row in with_peak],
                y=[row.name for row in with_peak],
                name=word,
                mode="markers",
                marker=marker,
                row=1,
                col=1,
                customdata=[row.words for row in with_peak],
                hovertemplate="%{y}: %{x:,.0f} MiB<br>%{customdata}<extra>" + word + "</extra>",
            )
        if without:
            figure.add_scatter(
                x=["no peak"] * len(without),
                y=[row.name for row in without],
                name=word,
                mode="markers",
                marker=marker,
                row=1,
                col=2,
                showlegend=not with_peak,
                hovertemplate="%{y}<extra>" + word + "</extra>",
            )
    ends = [end for row in rows for end in (row.peak_mib, row.low_mib, row.high_mib)]
    values = [value for value in ends if value is not None] + [margin_mib, capacity_mib]
    pad = 0.08 * (max(values) - min(values))
    middle = (min(values) + max(values)) / 2
    for value, name, shift, dash in (
        (margin_mib, "margin", 0, "dash"),
        (capacity_mib, "capacity", 19, "solid"),
    ):
        # One name above the other, each towards the middle: on a phone there is no room beside.
        figure.add_vline(
            x=value,
            row=1,
            col=1,
            line={"dash": dash, "width": 1.5, "color": _LINE},
            annotation_text=f"{name} {value:,.0f}",
            annotation_position="top",
            annotation_xanchor="right" if value > middle else "left",
            annotation_yshift=shift,
        )
    _interval_bars(figure, rows, max(values) + pad)
    names = list(dict.fromkeys(row.name for row in rows))
    # Each row is named, however little room a phone has for names.
    figure.update_yaxes(
        categoryorder="array",
        categoryarray=names[::-1],
        tickmode="array",
        tickvals=names,
        ticktext=names,
        automargin=True,
    )
    figure.update_xaxes(
        range=[min(values) - pad, max(values) + pad * 2], title_text="MiB per device", tickformat=",d", col=1
    )
    figure.update_xaxes(type="category", range=[-0.5, 0.5], col=2)
    figure.update_layout(
        template=None,
        height=142 + 34 * len(names),
        margin={"l": 8, "r": 8, "t": 50, "b": 80},
        legend={"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0},
        meta={"narrow": {"height": 172 + 34 * len(names), "margin": {"b": 110}, **_narrow_axes(figure)}},
    )
    return figure


def _interval_bars(figure: go.Figure, rows: Sequence[PeakRow], edge_mib: float) -> None:
    """A thick line from end to end of each interval; an open upper end runs to the edge with an arrow."""
    shown = [row for row in rows if row.low_mib is not None or row.high_mib is not None]
    for number, row in enumerate(shown):
        low = row.low_mib if row.low_mib is not None else row.high_mib
        high = edge_mib if row.high_mib is None else row.high_mib
        words = f"more than {low:,.0f}" if row.high_mib is None else f"{low:,.0f} to {high:,.0f}"
        figure.add_scatter(
            name="interval",
            legendgroup="interval",
            showlegend=number == 0,
            x=[low, high],
            y=[row.name, row.name],
            mode="lines+markers",
            line={"color": "#0072B2", "width": 7},
            opacity=0.45,
            marker={
                "symbol": ["line-ns", "triangle-right" if row.high_mib is None else "line-ns"],
                "size": 14,
                "color": "#0072B2",
                "line": {"width": 2, "color": "#0072B2"},
            },
            hovertemplate=f"{row.name}: {words} MiB<extra>interval</extra>",
            row=1,
            col=1,
        )
