"""The whole panel: every planned configuration, what became of it, and its state under every method."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from rlvram_site.marks import MARKS, themed_colour
from studies.figures.approvals import hatching
from studies.text.words import label_words, method_words

ROW_HEIGHT = 52  # px
FILL = 0.92  # share of a cell that is drawn; the rest parts it from the next
OBSERVED_WIDTH = 1.4  # columns
NEEDED = 76  # px that a column with words needs at least
GPU_GAP = 0.35  # columns between GPU counts
LABEL_CHARACTERS = 18  # a row's label is broken into lines of this length; on a phone of the next
NARROW_CHARACTERS = 11


@dataclass(frozen=True)
class PanelTarget:
    """One planned configuration.

    ``row`` is what its row says (workload · level), ``label`` the configuration's label, None while it is
    unresolved. ``seeds`` are its slots, ``151 ✕ 152 ✕ 153 ?``, and ``slots`` their marks alone, ``✕✕?``.
    ``states`` gives a key of ``MARKS`` by method, ``address`` is the configuration's page.
    """

    configuration_id: str
    row: str
    gpu_count: int
    label: str | None
    seeds: str
    slots: str
    states: Mapping[str, str]
    address: str = ""

    @property
    def observed(self) -> str:
        return label_words(self.label) if self.label else "unresolved"


def panel_figure(targets: Sequence[PanelTarget]) -> go.Figure:
    """Rows in the order given; columns are GPU counts, each with what was observed and then the methods.

    Each state is one trace of bars that stand on their row, because bars are what plotly can hatch.
    ``meta.narrow`` holds what changes on a phone: cells keep their mark and lose their words.
    """
    rows = list(dict.fromkeys(target.row for target in targets))
    methods = list(dict.fromkeys(method for target in targets for method in target.states))
    gpu_counts = sorted({target.gpu_count for target in targets})
    places = _places(gpu_counts, methods)
    figure = go.Figure()
    for state in MARKS:
        here = [(t, method) for t in targets for method, found in t.states.items() if found == state]
        if here:
            figure.add_bar(**_cells(state, here, rows, places))
    figure.add_scatter(**_observed(targets, rows, places))
    figure.update_layout(
        template=None,
        barmode="overlay",
        showlegend=False,
        height=62 + ROW_HEIGHT * len(rows),
        margin={"l": 4, "r": 4, "t": 60, "b": 2},
        xaxis={
            "range": [-0.72, max(places.values(), default=0) + 0.5],
            "tickvals": list(places.values()),
            "ticktext": [_head(method) for _, method in places],
            "side": "top", "showgrid": False, "zeroline": False, "showline": False, "tickangle": 0,
            "fixedrange": True, "ticks": "", "tickfont": {"size": 11.5},
        },
        yaxis={
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": list(range(len(rows))),
            "ticktext": [_row_label(row, LABEL_CHARACTERS) for row in rows],
            "showgrid": False, "zeroline": False, "showline": False, "fixedrange": True, "ticks": "",
        },
        annotations=[_gpu_head(gpus, places) for gpus in gpu_counts],
        meta={
            "narrow": _narrow(rows, gpu_counts, places),
            "narrow_below": 130 + NEEDED * len(places),
            "data": _data(targets, methods),
        },
    )  # fmt: skip
    return figure


def _places(gpu_counts: Sequence[int], methods: Sequence[str]) -> dict[tuple[int, str], float]:
    """The middle of each column, in columns; the empty method is what was observed."""
    places: dict[tuple[int, str], float] = {}
    edge = -OBSERVED_WIDTH / 2
    for gpus in gpu_counts:
        places[gpus, ""] = edge + OBSERVED_WIDTH / 2
        edge += OBSERVED_WIDTH
        for method in methods:
            places[gpus, method] = edge + 0.5
            edge += 1
        edge += GPU_GAP
    return places


def _cells(
    state: str,
    here: Sequence[tuple[PanelTarget, str]],
    rows: Sequence[str],
    places: Mapping[tuple[int, str], float],
) -> dict:
    mark = MARKS[state]
    edge = 3 if mark.line or mark.hollow else 1
    count = len(here)
    words = "<br>".join(textwrap.wrap(mark.short, 13))
    plain = not (mark.pattern or mark.hollow)
    return {
        "name": mark.word,
        "x": [places[target.gpu_count, method] for target, method in here],
        "base": [rows.index(target.row) - FILL / 2 for target, _ in here],
        "y": [FILL] * count,
        "width": [FILL] * count,
        "marker": {
            "color": "rgba(0,0,0,0)" if mark.hollow else themed_colour(mark),
            "line": {"color": mark.line or themed_colour(mark), "width": edge},
            "pattern": hatching(mark, 0.14, 9),
        },
        "text": [f"<b>{mark.glyph}</b><br>{words}"] * count,
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "constraintext": "none",
        "textfont": {
            "size": 10.5, "color": "#111111" if plain else "var(--text)",
            "shadow": "none" if plain else "auto",  # words on hatching need a rim
        },
        "customdata": [
            [t.configuration_id, method_words(method), t.observed, t.seeds] for t, method in here
        ],
        "hovertemplate": (
            f"<b>%{{customdata[1]}}: {mark.word}</b><br>%{{customdata[0]}}"
            "<br>%{customdata[2]} · %{customdata[3]}<extra></extra>"
        ),
        "meta": {
            "state": state,
            "links": [t.address and f"{t.address}#predictions" for t, _ in here],
            "narrow": {"text": [f"<b>{mark.glyph}</b>"] * count, "textfont": {"size": 13}},
        },
    }  # fmt: skip


def _observed(
    targets: Sequence[PanelTarget], rows: Sequence[str], places: Mapping[tuple[int, str], float]
) -> dict:  # fmt: skip
    """The label and the seeds behind it, as text without a mark of its own."""
    return {
        "name": "observed",
        "mode": "text",
        "x": [places[target.gpu_count, ""] for target in targets],
        "y": [rows.index(target.row) for target in targets],
        "text": [f"{target.observed}<br>{target.seeds}" for target in targets],
        "textfont": {"size": 11},
        "customdata": [[target.configuration_id] for target in targets],
        "hovertemplate": "%{customdata[0]}<br>%{text}<extra></extra>",
        "meta": {
            "state": "observed",
            "links": [target.address and f"{target.address}#slots" for target in targets],
            "narrow": {
                "text": [target.slots for target in targets],
                "textfont": {"size": 12},
            },
        },
    }


def _data(targets: Sequence[PanelTarget], methods: Sequence[str]) -> dict:
    """The panel as a table, a configuration a row."""
    return {
        "columns": ["Configuration", "Row", "GPUs", "Observed", "Seeds", *map(method_words, methods)],
        "rows": [
            [
                target.configuration_id, target.row, target.gpu_count, target.observed, target.seeds,
                *(MARKS[target.states[name]].word if name in target.states else "" for name in methods),
            ]
            for target in targets
        ],
        "links": [target.address for target in targets],
    }  # fmt: skip


def _head(method: str) -> str:
    return method_words(method).replace(" ", "<br>") if method else "observed,<br>by seed"


def _row_label(row: str, characters: int) -> str:
    """The row's words on short lines; what follows the last dot, the level, on a line of its own."""
    front, _, level = row.rpartition(" · ")
    return "<br>".join([*textwrap.wrap(front, characters, break_long_words=False), level])


def _gpu_head(gpus: int, places: Mapping[tuple[int, str], float], above: int = 36) -> dict:
    here = [place for (count, _), place in places.items() if count == gpus]
    return {
        "x": min(here) - OBSERVED_WIDTH / 2, "xref": "x", "xanchor": "left",
        "y": 1, "yref": "paper", "yshift": above, "yanchor": "bottom", "showarrow": False,
        "text": f"<b>{gpus} {'GPU' if gpus == 1 else 'GPUs'}</b>",
    }  # fmt: skip


def _narrow(rows: Sequence[str], gpu_counts: Sequence[int], places: Mapping[tuple[int, str], float]) -> dict:
    """On a phone: column heads stand upright, row labels are short lines."""
    return {
        "height": 118 + 46 * len(rows),
        "margin": {"l": 2, "r": 2, "t": 116},
        "xaxis": {"tickangle": -90, "tickfont": {"size": 11}},
        "yaxis": {"ticktext": [_row_label(row, NARROW_CHARACTERS) for row in rows], "tickfont": {"size": 11}},
        "annotations": [_gpu_head(gpus, places, above=92) for gpus in gpu_counts],
    }
