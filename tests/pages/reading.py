"""Reading a page as its tests need it: text without markup, opening sentence, the data of its figures."""

from __future__ import annotations

import html
import json
import re
from typing import Any


def text_of(response) -> str:
    """The page's words with single spaces, scripts left out."""
    page = re.sub(r"<script.*?</script>", "", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def sentence_of(response) -> str:
    """The sentence that opens the page."""
    found = re.search(r'<p class="sentence">(.*?)</p>', response.content.decode(), re.DOTALL)
    assert found, "the page has no opening sentence"
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", found[1])).split())


def figure_of(response, identifier: str) -> dict[str, Any]:
    """The figure that the page hands to plotly.js."""
    found = re.search(
        rf'<script type="application/json" id="{identifier}-data">(.*?)</script>',
        response.content.decode(),
        re.DOTALL,
    )
    assert found, f"the page has no figure {identifier}"
    return json.loads(found[1])


def trace_counts(figure: dict[str, Any], axis: str = "x") -> dict[str, list[float | None]]:
    """Bar lengths by state, for the traces of one x axis (``x``, ``x2`` …)."""
    return {
        trace["meta"]["state"]: trace["x"]
        for trace in figure["data"]
        if trace["type"] == "bar" and trace.get("xaxis", "x") == axis
    }
