"""What can be done with a table, folded up behind it: order, filter, columns, files, kept views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, QueryDict
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from rlvram_site.models import SavedView
from rlvram_site.tables.arrangement import Arrangement, is_asked
from rlvram_site.tables.paging import ARRANGED


def tools(
    request: HttpRequest, name: str, columns: Sequence[str], wanted: Arrangement, total: int, shown: int
) -> SafeString:
    """Markup of the tools. ``columns`` is empty where rows belong together: only files are offered."""
    parts = [_form(request, name, columns, wanted)] if columns else []
    parts.append(_files(request, name))
    if columns and request.user.is_authenticated:
        parts.append(_kept(request))
    return format_html(
        '<div class="tools">{}<details{}><summary>{}'
        '<span class="visually-hidden"> of the table {}</span></summary>'
        "{}</details></div>",
        _said(request, wanted, total, shown),
        SafeString(" open") if wanted else "",
        "Sort, filter, columns, files" if columns else "Files",
        name.replace("-", " "),
        format_html_join("", "{}", ((part,) for part in parts)),
    )


def _said(request: HttpRequest, wanted: Arrangement, total: int, shown: int) -> SafeString | str:
    """What the arrangement leaves out, in a sentence."""
    if not wanted:
        return ""
    longest = getattr(request, "longest_list", 0)
    cut = f" Only the first {ARRANGED:,} of {longest:,} are arranged." if longest > ARRANGED else ""
    of = f'Rows with "{wanted.words}": {shown:,} of {total:,}.' if wanted.words else f"All {total:,} rows."
    return format_html('<p class="note" role="status">{}{}</p>', of, cut)


def _address(request: HttpRequest, name: str, **changes: str) -> str:
    query = request.GET.copy()
    for key, value in changes.items():
        query[f"{name}.{key}"] = value
    return f"?{query.urlencode()}"


def _others(request: HttpRequest, name: str) -> QueryDict:
    """The address's query without what arranges this table, and without the page it stood on."""
    query = request.GET.copy()
    for key in (f"{name}.q", f"{name}.sort", f"{name}.hide", "page"):
        query.pop(key, None)
    return query


def _form(request: HttpRequest, name: str, columns: Sequence[str], wanted: Arrangement) -> SafeString:
    others = _others(request, name)
    hidden = format_html_join(
        "", '<input type="hidden" name="{}" value="{}">',
        ((key, value) for key, values in others.lists() for value in values),
    )  # fmt: skip
    orders = [(0, "as given")]
    for place, column in enumerate(columns, start=1):
        orders += [
            (place, f"{column or place}, smallest first"),
            (-place, f"{column or place}, largest first"),
        ]
    options = format_html_join(
        "", '<option value="{}"{}>{}</option>',
        (
            (place or "", SafeString(" selected") if place == wanted.sort else "", words)
            for place, words in orders
        ),
    )  # fmt: skip
    boxes = format_html_join(
        "", '<label><input type="checkbox" name="{}.hide" value="{}"{}> {}</label>',
        (
            (name, place, SafeString(" checked") if place in wanted.hidden else "", column or place)
            for place, column in enumerate(columns, start=1) if place > 1
        ),
    )  # fmt: skip
    rest = f"?{others.urlencode()}" if others else request.path
    return format_html(
        '<form method="get" class="arrange">{}'
        '<label>Rows with <input type="search" name="{}.q" value="{}"></label>'
        '<label>Sorted by <select name="{}.sort">{}</select></label>'
        "<fieldset><legend>Columns to leave out</legend>{}</fieldset>"
        '<p><button type="submit" class="button">Arrange</button> <a href="{}">As given</a></p></form>',
        hidden, name, wanted.words, name, options, boxes, rest,
    )  # fmt: skip


def _files(request: HttpRequest, name: str) -> SafeString:
    return format_html(
        '<p class="files">This table as <a href="{}" download>CSV</a>'
        ' or <a href="{}" download>LaTeX</a>.</p>',
        _address(request, name, **{"as": "csv"}), _address(request, name, **{"as": "tex"}),
    )  # fmt: skip


def _kept(request: HttpRequest) -> SafeString:
    """The person's own views of this page, and a field to keep the one that is shown."""
    person: Any = request.user
    if not hasattr(request, "kept_views"):
        found = SavedView.objects.filter(user=person, path=request.path)
        request.kept_views = list(found)  # type: ignore[attr-defined]
    views = format_html_join(
        "", '<li><a href="{}">{}</a></li>', ((view.address, view.name) for view in request.kept_views)  # type: ignore[attr-defined]
    )  # fmt: skip
    listed = format_html('<ul class="kept">{}</ul>', views) if views else ""
    keep: SafeString | str = ""
    if is_asked(request.GET) or any(key.endswith(".hide") for key in request.GET):
        keep = format_html(
            '<form method="post" action="{}" class="row">'
            '<input type="hidden" name="csrfmiddlewaretoken" value="{}">'
            '<input type="hidden" name="path" value="{}"><input type="hidden" name="query" value="{}">'
            '<label>Keep this view as <input name="name" required maxlength="60"></label>'
            '<button type="submit" class="button">Keep</button></form>',
            reverse("saved-views"), get_token(request), request.path, request.GET.urlencode(),
        )  # fmt: skip
    return format_html('{}{}<p><a href="{}">Views you kept</a></p>', listed, keep, reverse("saved-views"))
