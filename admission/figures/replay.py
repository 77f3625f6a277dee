"""What each policy would have required of the same candidates, against what was usable. Logarithmic, GiB."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from admission.figures.words import plain
from rlvram_site.marks import BLUE, GREEN, ORANGE, SKY, VERMILION

GIB = 2**30
_COLOURS = (BLUE, ORANGE, GREEN, SKY, VERMILION, "var(--text)", "var(--muted)")
# One more than colours, so that no pair repeats among the first 56 policies.
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "cross", "hexagon", "pentagon")
MAX_LABEL = 34


def replay_figure(results: dict[str, Any]) -> go.Figure:
    """One row per candidate, one mark per policy; filled when admitted, hollow when refused."""
    policies: dict[str, list[dict[str, Any]]] = results["policies"]
    first = next(iter(policies.values()), [])
    count = len(first)
    labels = [plain(str(entry["label"]), MAX_LABEL) for entry in first]
    figure = go.Figure()
    figure.add_scatter(
        x=[entry["usable_bytes"] / GIB for entry in first],
        y=[-place for place in range(count)],
        mode="markers",
        name="usable",
        marker={"symbol": "line-ns-open", "size": 26, "color": "var(--text)", "line": {"width": 3}},
        hovertemplate="usable %{x:.3f} GiB<extra></extra>",
    )
    for number, (name, entries) in enumerate(policies.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        symbol = _SYMBOLS[number % len(_SYMBOLS)]
        offset = (number - (len(policies) - 1) / 2) * min(0.2, 0.7 / max(1, len(policies)))
        refused = sum(entry["decision"] == "refused" for entry in entries)
        figure.add_scatter(
            x=[max(entry["required_bytes"], 1) / GIB for entry in entries],
            y=[-place - offset for place in range(count)],
            mode="markers",
            name=f"{plain(name)}: {refused} of {count} refused",
            marker={
                "symbol": [symbol if e["decision"] == "admitted" else f"{symbol}-open" for e in entries],
                "size": 12,
                "color": colour,
                "line": {"color": colour, "width": 2.5},
            },
            hovertext=[f"{plain(name)}: {e['decision']} at {e['required_bytes']:,} B" for e in entries],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    for place, label in enumerate(labels):
        figure.add_annotation(
            x=0, xref="paper", xanchor="left", y=-place, yshift=20, showarrow=False, text=label,
            font={"size": 12}, bgcolor="var(--surface)", borderpad=1,
        )  # fmt: skip
    figure.update_layout(
        template=None,
        height=58 * count + 96 + 22 * len(policies),
        margin={"l": 8, "r": 12, "t": 12, "b": 40},
        xaxis={"type": "log", "title": {"text": "GiB, logarithmic"}, "fixedrange": True, "dtick": 1},
        yaxis={"visible": False, "range": [-count + 0.4, 0.75], "fixedrange": True},
        legend={"orientation": "h", "y": -56 / (58 * count + 40), "yanchor": "top", "x": 0},
    )
    return figure
