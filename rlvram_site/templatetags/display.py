"""How numbers, times, hashes, states and figures are written on every page."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import plotly.io
from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from rlvram_site.marks import LABEL_MARKS, MARKS

register = template.Library()
NOTHING = "–"


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
    """``6,713,560,268 B (6.252 GiB)``."""
    return NOTHING if value is None else f"{value:,} B ({value / 2**30:,.3f} GiB)"


@register.filter
def gpu_hours(seconds: float | None) -> str:
    """GPU-seconds as ``5.79 GPU-hours``."""
    return NOTHING if seconds is None else f"{seconds / 3600:,.2f} GPU-hours"


@register.filter
def utc(value: dt.datetime | None) -> str | SafeString:
    """``2026-09-15 14:10:21 UTC`` in a ``time`` element."""
    if value is None:
        return NOTHING
    moment = value.astimezone(dt.UTC)
    return format_html('<time datetime="{}">{:%Y-%m-%d %H:%M:%S} UTC</time>', moment.isoformat(), moment)


@register.filter
def digest(value: str | None) -> str | SafeString:
    """A hash as 8 characters; the whole of it is in the title and is what gets copied."""
    if not value:
        return NOTHING
    return format_html(
        '<button type="button" class="hash" data-copy="{}" title="{}" aria-label="Copy {}">{}</button>',
        value, value, value, value[:8],
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
def figure(chart: Any, identifier: str, title: str, fallback: str = "") -> SafeString:
    """A plotly figure as JSON for ``static/figures.js``; ``title`` is the question that it answers.

    The script element is data (its type is JSON), so the content security policy needs no inline script.
    """
    data = json.dumps(json.loads(plotly.io.to_json(chart, validate=False)), separators=(",", ":"))
    for character, escape in (("<", "\\u003C"), (">", "\\u003E"), ("&", "\\u0026")):
        data = data.replace(character, escape)
    return format_html(
        '<figure class="chart" id="{id}"><figcaption>{title}</figcaption>'
        '<div class="plot" data-figure="{id}-data" role="group" aria-label="{title}"></div>'
        "<noscript><p>{fallback}</p></noscript>"
        '<script type="application/json" id="{id}-data">{data}</script></figure>',
        id=identifier,
        title=title,
        fallback=fallback or "This chart needs JavaScript; the table below holds the same numbers.",
        data=mark_safe(data),  # noqa: S308 - JSON with <, > and & escaped above
    )
