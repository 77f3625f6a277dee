"""Names from the outside inside a figure: plotly reads a few tags in its texts, and a name has none."""

from __future__ import annotations


def plain(text: str, length: int = 200) -> str:
    """``text`` on one line, cut to ``length`` characters, without anything that plotly would interpret."""
    line = " ".join(text.split())
    short = line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
