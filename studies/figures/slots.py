"""What became of the planned slots: one bar for each outcome or reason, split by GPU count."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from rlvram_site.marks import GREEN, GREY, ORANGE, VERMILION

_KINDS = {
    "within_margin": (GREEN, "", "●"),
    "above_margin": (ORANGE, "", "▲"),
    "memory_failure": (VERMILION, "", "✕"),
    "unresolved": (GREY, "/", "?"),
}
_LINE = 15  # px of one line of text
_BAR = 24  # px of a bar and the room below it
_FILL = 0.36  # share of a row that the bar takes
_HEAD = 54  # px of the axis and the room above the first row
_NARROW_CHARACTERS = 46  # of a line that fits a phone


@dataclass(frozen=True)
class SlotGroup:
    """How many slots of one GPU count share one outcome and reason.

    ``kind`` is a slot's state: ``within_margin``, ``above_margin``, ``memory_failure`` or ``unresolved``.
    """

    kind: str
    reason: str
    gpu_count: int
    slots: int


def slots_figure(groups: Sequence[SlotGroup]) -> go.Figure:
    """Zero-based stacked bars, one segment per GPU count, unresolved ones hatched.

    What a bar stands for and its counts are written above it, so that nothing is lost on a phone.
    """
    figure = go.Figure()
    kinds = {group.reason: group.kind for group in groups}
    order = list(_KINDS)
    reasons = sorted(kinds, key=lambda reason: (order.index(kinds[reason]), -_total(groups, reason), reason))
    for gpus in sorted({group.gpu_count for group in groups}):
        here = [group for group in groups if group.gpu_count == gpus]
        figure.add_bar(
            name=f"{gpus} GPUs",
            orientation="h",
            y=[group.reason for group in here],
            x=[group.slots for group in here],
            width=_FILL,
            marker={
                "color": [_KINDS[group.kind][0] for group in here],
                "pattern": {
                    "shape": [_KINDS[group.kind][1] for group in here],
                    "fillmode": "overlay",
                    "solidity": 0.2,
                    "size": 8,
                    "fgcolor": "#444444",
                },
                "line": {"color": "var(--surface)", "width": 2},
            },
            hovertemplate="%{y}: %{x} slots on " + str(gpus) + " GPUs<extra></extra>",
        )
    texts = [_text(groups, reason, kinds[reason]) for reason in reasons]
    lines = max((len(textwrap.wrap(text, _NARROW_CHARACTERS)) for text in texts), default=1)
    figure.update_layout(
        template=None,
        barmode="stack",
        showlegend=False,
        height=_HEAD + _row(1) * len(reasons),
        margin={"l": 8, "r": 8, "t": 4, "b": 40},
        annotations=[_label(reason, text, _row(1)) for reason, text in zip(reasons, texts, strict=True)],
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": reasons[::-1],
            "showticklabels": False,
            "range": [-0.4, len(reasons) - 0.3],
        },
        xaxis={"title": "planned slots", "rangemode": "tozero", "tickformat": ",d", "nticks": 8},
        meta={
            "narrow": {
                "height": _HEAD + _row(lines) * len(reasons),
                "annotations": [
                    _label(reason, "<br>".join(textwrap.wrap(text, _NARROW_CHARACTERS)), _row(lines))
                    for reason, text in zip(reasons, texts, strict=True)
                ],
            }
        },
    )
    return figure


def _total(groups: Sequence[SlotGroup], reason: str) -> int:
    return sum(group.slots for group in groups if group.reason == reason)


def _text(groups: Sequence[SlotGroup], reason: str, kind: str) -> str:
    """``✕ memory failure: 15 on 2 GPUs, 8 on 4 GPUs``."""
    here = sorted((g for g in groups if g.reason == reason), key=lambda group: group.gpu_count)
    parts = ", ".join(f"{group.slots} on {group.gpu_count} GPUs" for group in here)
    return f"{_KINDS[kind][2]} {reason}: {parts}"


def _row(lines: int) -> int:
    """px of one bar with so many lines of text above it."""
    return (_BAR + _LINE * lines) * 5 // 4


def _label(reason: str, text: str, row: int) -> dict:
    """The text above the bar, from zero. ``row`` is its row's height in px."""
    return {
        "x": 0,
        "y": reason,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": round(row * _FILL / 2),
        "align": "left",
        "showarrow": False,
        "text": text,
    }
