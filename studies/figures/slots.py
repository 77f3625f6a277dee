"""What became of the planned slots: one bar for each outcome or reason, split by GPU count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from rlvram_site.marks import BLUE, GREEN, GREY, ORANGE, SKY, VERMILION

_KINDS = {
    "within_margin": (GREEN, ""),
    "above_margin": (ORANGE, ""),
    "memory_failure": (VERMILION, ""),
    "unresolved": (GREY, "/"),
}
_GROUP_LINES = (BLUE, "var(--text)", SKY, "var(--muted)")


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
    """Zero-based horizontal bars, unresolved ones hatched; each segment carries its count and GPU count."""
    figure = go.Figure()
    reasons = list(
        dict.fromkeys(g.reason for g in sorted(groups, key=lambda g: (list(_KINDS).index(g.kind), g.reason)))
    )
    for position, gpus in enumerate(sorted({group.gpu_count for group in groups})):
        here = [group for group in groups if group.gpu_count == gpus]
        figure.add_bar(
            name=f"{gpus} GPUs",
            orientation="h",
            y=[group.reason for group in here],
            x=[group.slots for group in here],
            text=[f"{group.slots} on {gpus} GPUs" for group in here],
            textposition="inside",
            insidetextanchor="middle",
            textfont={"color": "#000000"},
            marker={
                "color": [_KINDS[group.kind][0] for group in here],
                "pattern": {
                    "shape": [_KINDS[group.kind][1] for group in here],
                    "fillmode": "overlay",
                    "solidity": 0.15,
                    "size": 8,
                    "fgcolor": "#444444",
                },
                "line": {"color": _GROUP_LINES[position % len(_GROUP_LINES)], "width": 1.5},
            },
            hovertemplate="%{y}: %{x} slots on " + str(gpus) + " GPUs<extra></extra>",
        )
    figure.update_layout(
        template=None,
        barmode="stack",
        showlegend=False,
        height=90 + 44 * len(reasons),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": reasons[::-1],
            "automargin": True,
        },
        xaxis={"title": "planned slots", "rangemode": "tozero", "tickformat": ",d"},
    )
    return figure
