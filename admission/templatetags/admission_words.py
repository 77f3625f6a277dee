"""How statements, sizes, classes and verdicts of issues are written on pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from admission.dates import Precision
from admission.marks import CLASS_MARKS, LOOKS_LIKE, VERDICT_MARKS
from admission.models import TrackedIssue
from admission.text import first_line, to_html
from rlvram_site.templatetags.display import NOTHING, bytes_gib, utc

register = template.Library()
register.filter("first_line", first_line)


@register.filter
def markdown(text: str, issue: TrackedIssue | None = None) -> SafeString:
    """A statement's text as sanitised HTML; bare numbers and hashes point to the repository of ``issue``."""
    return to_html(text, issue.repository, issue.forge) if issue is not None else to_html(text)


@register.simple_tag
def issue_url(name: str, issue: TrackedIssue, *more: Any) -> str:
    """The address of a page of ``issue``, whichever forge it is on."""
    return reverse(name, args=[*issue.address, *more])


@register.filter
def stated(row: Any) -> str:
    """When something was said: its day, and the hour where one was given, in the words that gave it."""
    if row.stated_precision == Precision.INSTANT:
        return utc(row.sort_at)
    more = ""
    if row.stated_precision in (Precision.MINUTE, Precision.PART_OF_DAY):
        more = format_html(' <span class="note">({})</span>', row.stated_words)
    unknown = " or later" if row.stated_precision == Precision.UNKNOWN else ""
    day = row.stated_day.isoformat()
    return format_html('<time datetime="{}">{}</time>{}{}', day, day, unknown, more)


@register.filter
def kind_of(row: Any) -> str:
    """What kind of record a row is, in words."""
    return str(row._meta.verbose_name)


@register.filter
def missing_cells(columns: range, cells: list[Any]) -> range:
    """The columns that a row with ``cells`` leaves empty."""
    return range(len(columns) - len(cells))


@register.simple_tag
def size(row: Any, name: str) -> str:
    """A size in full; where its source gave it rounded, in the source's words with the bytes behind."""
    value, words = getattr(row, f"{name}_bytes"), getattr(row, f"{name}_words")
    if value is None:
        return NOTHING
    return f"{words} ({value:,} B)" if words else bytes_gib(value)


def _mark(name: str, marks: dict[str, Any], note: str) -> SafeString:
    mark = marks[name]
    return format_html(
        '<span class="state state-{}"><span class="glyph" aria-hidden="true">{}</span> {}{}</span>',
        LOOKS_LIKE[name], mark.glyph, mark.word, f": {note}" if note else "",
    )  # fmt: skip


@register.simple_tag
def witness_class(name: str, note: str = "") -> SafeString:
    """The class of a witness, or its flag ``under_estimated``, with its mark."""
    return _mark(name, CLASS_MARKS, note)


@register.simple_tag
def verdict(name: str, note: str = "") -> SafeString:
    """A verdict with its mark; the empty name is a head without one."""
    return _mark(name, VERDICT_MARKS, note)


@register.inclusion_tag("admission/_pages.html", takes_context=True)
def pages(context: dict[str, Any], page: Any, what: str) -> dict[str, Any]:
    """Links to the other pages of a list; everything else in the address stays."""
    query = context["request"].GET.copy()
    query.pop("page", None)
    return {"page": page, "what": what, "query": query.urlencode()}
