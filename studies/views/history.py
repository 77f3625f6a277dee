"""Everything that happened in a study on one line of time, and the panel as it was known at a moment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from rlvram_site.as_of import AsOfError, as_of_text, parse_as_of
from rlvram_site.tables.paging import page_of
from studies.figures.panel import panel_figure
from studies.figures.timeline import HistoryBin, HistoryMark, binned_figure, history_figure
from studies.models import Allocation, Amendment, Attempt, Event, Exclusion, NonLaunch, Protocol, Study
from studies.services.errors import UNREADABLE
from studies.services.history.long import binned, is_long, page_after
from studies.services.history.timeline import SEALS, HistoryItem, timeline
from studies.services.predictions.recorded import panel_set
from studies.services.predictions.seals import SealState, seal_state
from studies.services.scores.panel import PanelRow, load_panel
from studies.services.scores.panel_groups import is_large
from studies.services.scores.panel_lines import (
    PanelLine,
    PanelNumbers,
    in_panel_order,
    lines,
    panel_numbers,
)
from studies.services.whose_word import words
from studies.text.words import counted, sentence
from studies.views.common import get_study, study_page
from studies.views.overview import targets

ITEMS_PER_PAGE = 200
PLACE_DIGITS = 18  # of a place in the ledger that the database can hold


class AsOfForm(forms.Form):
    """The moment to look from; ``rlvram_site.as_of`` says how it is read."""

    as_of = forms.CharField(
        label="As of (UTC)",
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}),
    )

    def clean_as_of(self) -> dt.datetime | None:
        try:
            return parse_as_of(self.cleaned_data["as_of"])
        except AsOfError as error:
            raise forms.ValidationError(str(error)) from None


@dataclass(frozen=True)
class Line:
    """One line of the list. ``ground``: ``before``, ``seal`` or ``after``; empty while nothing is sealed.

    ``contradicts``: recorded after the seal, but by its own clock before it.
    """

    item: HistoryItem
    ground: str
    known: bool
    link: str
    contradicts: bool


def history(request: HttpRequest, slug: str) -> HttpResponse:
    """The line of time; ``as_of`` in the address moves the cursor, and the panel follows."""
    study = get_study(slug)
    form = AsOfForm(request.GET)
    as_of = form.cleaned_data["as_of"] if form.is_valid() else None
    try:
        numbers = panel_numbers(study)
    except UNREADABLE as error:
        context: dict[str, Any] = {"problem": str(error), "sentence": ""}
    else:
        found, seal = _long if is_long(study) else _whole, seal_state(study)
        context = {**found(request, study, seal, as_of), **_panel(numbers, study, as_of)}
        context |= {"seal": seal, "words": words(study)}
        context["sentence"] = _sentence(context, seal, numbers, as_of)
    as_of_query = urlencode({"as_of": as_of_text(as_of)}) if as_of else ""
    response = study_page(
        request, study, "history", form=form, as_of=as_of, as_of_query=as_of_query, **context
    )
    response.status_code = 400 if form.errors else 200
    return response


def _whole(request: HttpRequest, study: Study, seal: SealState, as_of: dt.datetime | None) -> dict[str, Any]:
    """All records by time."""
    items = timeline(study)
    sealed_at = seal.seal.sealed_at if seal.seal else None
    page = page_of(request, items, ITEMS_PER_PAGE)
    return {
        "figure": history_figure([_moment(study, item) for item in items], sealed_at=sealed_at, as_of=as_of)
        if items
        else None,
        "known_count": sum(as_of is None or item.known_at <= as_of for item in items),
        "total": len(items),
        "before": sum(sealed_at is not None and item.at < sealed_at for item in items),
        "page_of_items": page,
        "lines": [_line(study, item, seal, as_of) for item in page],
    }


def _long(request: HttpRequest, study: Study, seal: SealState, as_of: dt.datetime | None) -> dict[str, Any]:
    """Some records in the ledger's order, and all of them in bins."""
    sealed_at = seal.seal.sealed_at if seal.seal else None
    text = request.GET.get("after", "")
    found = page_after(
        study, int(text) if text.isdecimal() and len(text) < PLACE_DIGITS else 0, ITEMS_PER_PAGE
    )
    unit, bins = binned(study)
    return {
        "long": found,
        "figure": binned_figure(
            [HistoryBin(item.lane, item.at, item.number) for item in bins], unit, sealed_at=sealed_at
        ),
        "total": sum(item.number for item in bins),
        "lines": [_line(study, item, seal, as_of) for item in found.items],
    }


def sealed_at_of(study: Study) -> dt.datetime | None:
    """When the panel's predictions were first sealed; None while they are not."""
    chosen = panel_set(study)
    seal = chosen.seals.order_by("pk").first() if chosen else None
    return seal.sealed_at if seal else None


def _panel(numbers: PanelNumbers, study: Study, as_of: dt.datetime | None) -> dict[str, Any]:
    """The panel now or at the moment; a large one is not drawn cell by cell, and not derived for a moment."""
    if is_large(numbers):
        return {"panel": numbers, "too_many": numbers.planned}
    if as_of is None:
        rows: Sequence[PanelLine | PanelRow] = lines(
            numbers, in_panel_order(study).values_list("pk", flat=True)
        )
        methods, resolved, predicted = numbers.methods, numbers.resolved, numbers.prediction_set is not None
    else:
        then = load_panel(study, as_of)
        rows, methods, resolved = then.rows, then.methods, len(then.resolved)
        predicted = then.prediction_set is not None
    return {
        "panel": numbers,
        "rows": rows,
        "methods": methods,
        "resolved": resolved,
        "predicted": predicted,
        "panel_figure": panel_figure(targets(rows)) if predicted else None,
    }


def _moment(study: Study, item: HistoryItem) -> HistoryMark:
    return HistoryMark(item.lane, item.title, item.at, item.ended_at, _link(study, item))


def _line(study: Study, item: HistoryItem, seal: SealState, as_of: dt.datetime | None) -> Line:
    ground = ground_of(item, seal.seal.sealed_at if seal.seal else None)
    contradicts = isinstance(item.row, Attempt) and item.row in seal.contradictions
    return Line(item, ground, as_of is None or item.known_at <= as_of, _link(study, item), contradicts)


def ground_of(item: HistoryItem, sealed_at: dt.datetime | None) -> str:
    """On which side of the seal it lies: ``before``, ``seal`` or ``after``; empty while nothing is sealed."""
    if sealed_at is None:
        return ""
    return "before" if item.at < sealed_at else "seal" if item.lane == SEALS else "after"


def _link(study: Study, item: HistoryItem) -> str:
    """The page on which the recorded row stands."""
    row: Any = item.row
    if isinstance(row, Attempt):
        return reverse("attempt", args=[study.slug, row.invocation_id])
    if isinstance(row, Exclusion):
        return reverse("attempt", args=[study.slug, row.attempt.invocation_id])
    if isinstance(row, NonLaunch):
        return reverse("slot", args=[study.slug, row.slot.experiment_id])
    if isinstance(row, Protocol | Amendment):
        return reverse("protocol", args=[study.slug])
    if isinstance(row, Allocation):
        return reverse("costs", args=[study.slug])
    return reverse("events", args=[study.slug]) if isinstance(row, Event) else study.get_absolute_url()


def _sentence(found: dict[str, Any], seal: SealState, panel: PanelNumbers, as_of: dt.datetime | None) -> str:
    total = found["total"]
    if not total:
        return "Nothing has happened in this study yet."
    if as_of is not None and "known_count" in found and "resolved" in found:
        predicted = "" if found["predicted"] else "; no prediction was sealed"
        return (
            f"At {as_of:%Y-%m-%d %H:%M:%S} UTC {found['known_count']} of {total} records were known and "
            f"{found['resolved']} of {panel.planned} configurations were resolved{predicted}."
        )
    if seal.seal is None:
        return f"{sentence(counted(total, 'record'))}, and nothing is sealed."
    sealed = f"{sentence(seal.word)}, at {seal.seal.sealed_at:%Y-%m-%d %H:%M:%S} UTC"
    if "before" not in found:
        return f"{sealed}; {counted(total, 'record')} in all."
    return (
        f"{sealed}: {found['before']} of {total} records lie before the seal, "
        f"{total - found['before']} at it or after."
    )
