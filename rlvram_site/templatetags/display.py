"""How numbers, times, hashes, states and figures are written on every page."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import plotly.io
from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from rlvram_site.counting import figures
from rlvram_site.marks import LABEL_MARKS, MARKS

register = template.Library()
NOTHING = "–"
LONG_LIST = 12
"""Longer lists are folded up."""


def _grouped(value: float) -> str:
    return f"{value:,.0f}"


@register.filter
def mib(value: float | None) -> str:
    """``40,750 MiB``; a dash when there is none (blank is not zero)."""
    return NOTHING if value is None else f"{_grouped(value)} MiB"


@register.filter
def mib_margin(value: float | None, margin: float) -> str:
    """``40,750 MiB · 1,838 above``: the distance to the margin stands beside the value."""
    if value is None:
        return NOTHING
    distance = value - margin
    if distance == 0:
        return f"{mib(value)} · at the margin"
    return f"{mib(value)} · {_grouped(abs(distance))} {'above' if distance > 0 else 'below'}"


@register.filter
def bytes_gib(value: int | None) -> str:
    """``6,713,560,268 B (6.252 GiB)``; below a MiB bytes alone say it."""
    if value is None:
        return NOTHING
    return f"{value:,} B" if abs(value) < 2**20 else f"{value:,} B ({value / 2**30:,.3f} GiB)"


@register.filter
def without_stop(text: str) -> str:
    """A sentence without its full stop, to go on after it."""
    return text.removesuffix(".")


@register.filter
def gpu_hours(seconds: float | None) -> str:
    """GPU-seconds as ``5.79 GPU-hours``."""
    return NOTHING if seconds is None else f"{seconds / 3600:,.2f} GPU-hours"


@register.filter
def gpu_seconds(seconds: float | None) -> str:
    """``17,882 GPU-s``."""
    return NOTHING if seconds is None else f"{_grouped(seconds)} GPU-s"


@register.filter
def utc(value: dt.datetime | None) -> str | SafeString:
    """``2026-09-15 14:10:21 UTC`` in a ``time`` element."""
    if value is None:
        return NOTHING
    moment = value.astimezone(dt.UTC)
    return format_html('<time datetime="{}">{} UTC</time>', moment.isoformat(), f"{moment:%Y-%m-%d %H:%M:%S}")


@register.filter
def digest(value: str | None) -> str | SafeString:
    """A hash as 8 characters, also when read out; the whole of it is in the title and gets copied."""
    if not value:
        return NOTHING
    return format_html(
        '<button type="button" class="hash" data-copy="{}" title="{}"'
        ' aria-label="{}, copy the whole hash">{}</button>',
        value, value, value[:8], value[:8],
    )  # fmt: skip


@register.filter
def counted(number: int, singular: str) -> str:
    """``{{ 3|counted:"kept view" }}`` is ``3 kept views``."""
    return figures(number, singular)


@register.filter
def words(name: str) -> str:
    """``component_regression`` as ``component regression``."""
    return name.replace("_", " ")


@register.filter
def whole(value: float | None) -> str:
    """``1,234``; a dash when there is none."""
    return NOTHING if value is None else _grouped(value)


@register.simple_tag
def cell(name: str) -> SafeString:
    """A state's mark alone; its word is there for those who listen or point."""
    mark = MARKS.get(name) or LABEL_MARKS[name]
    return format_html(
        '<span class="cell state-{}" title="{}"><span aria-hidden="true">{}</span>'
        '<span class="visually-hidden">{}</span></span>',
        name.replace("_", "-"), mark.word, mark.glyph[-1], mark.word,
    )  # fmt: skip


@register.simple_tag
def state(name: str, note: str = "") -> SafeString:
    """A state's or label's mark and word, with an optional note behind it."""
    mark = MARKS.get(name) or LABEL_MARKS[name]
    return format_html(
        '<span class="state state-{}"><span class="glyph" aria-hidden="true">{}</span> {}{}</span>',
        name.replace("_", "-"), mark.glyph, mark.word, f": {note}" if note else "",
    )  # fmt: skip


@register.simple_tag
def value(item: Any) -> str | SafeString:
    """A recorded JSON value: long lists folded up, hashes that copy, a text known by hash as such."""
    if isinstance(item, dict):
        if set(item) == {"text_sha256"}:
            return format_html("text with sha256 {}", digest(item["text_sha256"]))
        pairs = ((key, value(part)) for key, part in item.items())
        return format_html('<ul class="diff-list">{}</ul>', format_html_join("", "<li>{}: {}</li>", pairs))
    if isinstance(item, list):
        # Objects are lists of their own, each on its lines; a comma between them would stand alone.
        between = "" if any(isinstance(part, dict) for part in item) else ", "
        parts = format_html_join(between, "{}", ((value(part),) for part in item))
        if len(item) <= LONG_LIST:
            return parts
        return format_html("<details><summary>{} items</summary>{}</details>", len(item), parts)
    if isinstance(item, bool):
        return "yes" if item else "no"
    if item is None or item == "":
        return NOTHING
    return digest(item) if isinstance(item, str) and re.fullmatch("[0-9a-f]{64}", item) else str(item)


@register.simple_tag
def command(text: str) -> SafeString:
    """A command line with a button that copies it. It wraps between words, never after a hyphen."""
    words = format_html_join(" ", '<span class="nowrap">{}</span>', ((word,) for word in text.split(" ")))
    return format_html(
        '<div class="command"><pre><code>{}</code></pre>'
        '<button type="button" class="button" data-copy="{}" aria-label="Copy the command">Copy</button>'
        "</div>",
        words, text,
    )  # fmt: skip


@register.simple_tag
def figure(chart: Any, identifier: str, title: str, fallback: str = "") -> SafeString:
    """A plotly figure as JSON for ``static/figures.js``; ``title`` is the question that it answers.

    The script element is data (its type is JSON), so the content security policy needs no inline script.
    """
    data = json.dumps(json.loads(plotly.io.to_json(chart, validate=False)), separators=(",", ":"))
    for character, escape in (("<", "\\u003C"), (">", "\\u003E"), ("&", "\\u0026")):
        data = data.replace(character, escape)
    return format_html(
        '<figure class="chart" id="{id}"><figcaption>{title}</figcaption>'
        '<div class="plot" data-figure="{id}-data" role="group" aria-label="{title}">'
        '<p class="note">{fallback}</p></div>'
        '<script type="application/json" id="{id}-data">{data}</script></figure>',
        id=identifier,
        title=title,
        fallback=fallback or "This chart needs JavaScript; the table below holds the same numbers.",
        data=mark_safe(data),  # noqa: S308 - JSON with <, > and & escaped above
    )
