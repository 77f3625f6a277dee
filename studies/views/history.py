"""Everything that happened in a study on one line of time, and the panel as it was known at a moment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from rlvram_site.as_of import AsOfError, parse_as_of
from studies.figures.panel import panel_figure
from studies.figures.timeline import HistoryMark, history_figure
from studies.models import Allocation, Amendment, Attempt, Event, Exclusion, NonLaunch, Protocol, Study
from studies.services.history.timeline import SEALS, HistoryItem, timeline
from studies.services.predictions.seals import SealState, seal_state
from studies.services.scores.panel import Panel
from studies.services.whose_word import words
from studies.text.words import counted, sentence
from studies.views.common import get_study, panel_or_problem, study_page
from studies.views.overview import targets

ITEMS_PER_PAGE = 200


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
    panel, problem = panel_or_problem(study, as_of)
    items = timeline(study) if panel else []
    seal = seal_state(study)
    sealed_at = seal.seal.sealed_at if seal.seal else None
    page = Paginator(items, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    response = study_page(
        request,
        study,
        "history",
        form=form,
        as_of=as_of,
        problem=problem,
        sentence=_sentence(items, seal, panel, as_of),
        figure=history_figure([_moment(item) for item in items], sealed_at=sealed_at, as_of=as_of)
        if items
        else None,
        panel=panel,
        panel_figure=panel_figure(targets(panel)) if panel and panel.prediction_set else None,
        known_count=sum(as_of is None or item.known_at <= as_of for item in items),
        total=len(items),
        page_of_items=page,
        seal=seal,
        words=words(study),
        lines=[_line(study, item, seal, as_of) for item in page],
    )
    response.status_code = 400 if form.errors else 200
    return response


def _moment(item: HistoryItem) -> HistoryMark:
    return HistoryMark(item.lane, item.title, item.at, item.ended_at)


def _line(study: Study, item: HistoryItem, seal: SealState, as_of: dt.datetime | None) -> Line:
    ground, sealed_at = "", seal.seal.sealed_at if seal.seal else None
    if sealed_at is not None:
        ground = "before" if item.at < sealed_at else "seal" if item.lane == SEALS else "after"
    contradicts = isinstance(item.row, Attempt) and item.row in seal.contradictions
    return Line(item, ground, as_of is None or item.known_at <= as_of, _link(study, item), contradicts)


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


def _sentence(
    items: Sequence[HistoryItem], seal: SealState, panel: Panel | None, as_of: dt.datetime | None
) -> str:
    if panel is None or not items:
        return "Nothing has happened in this study yet."
    if as_of is not None:
        known = sum(item.known_at <= as_of for item in items)
        predicted = "" if panel.prediction_set else "; no prediction was sealed"
        return (
            f"At {as_of:%Y-%m-%d %H:%M:%S} UTC {known} of {len(items)} records were known and "
            f"{len(panel.resolved)} of {len(panel.rows)} configurations were resolved{predicted}."
        )
    if seal.seal is None:
        return f"{sentence(counted(len(items), 'record'))}, and nothing is sealed."
    before = sum(item.at < seal.seal.sealed_at for item in items)
    return (
        f"{sentence(seal.word)}, at {seal.seal.sealed_at:%Y-%m-%d %H:%M:%S} UTC: "
        f"{before} of {len(items)} records lie before the seal, {len(items) - before} at it or after."
    )
