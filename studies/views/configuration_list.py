"""A study's planned configurations: filtered, sorted, paged, with what became of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from studies.estimation.development import WORD
from studies.estimation.labels import UNRESOLVED
from studies.estimation.tables import prediction_cells
from studies.models import Configuration, Study
from studies.services.scores.development import load_development
from studies.services.scores.flat import flat_cells
from studies.services.scores.panel import Panel
from studies.text.words import label_words
from studies.views.common import get_study, panel_or_problem, study_page
from studies.views.filters import StateChoice
from studies.views.listing import Listing, download_configurations, list_configurations
from studies.views.tables import PlannedTable, known_words

LABELS = ("within_margin", "above_margin", "memory_failure")


def _states(panel: Panel) -> list[StateChoice]:
    """The labels, then what is known of those without one. The first that fits orders the list."""

    def those(wanted) -> Q:
        return Q(pk__in=[row.configuration.pk for row in panel.rows if wanted(row)])

    labels = [
        StateChoice(label, label_words(label), those(lambda row, label=label: row.resolution.label == label))
        for label in LABELS
    ]
    return [
        *labels,
        StateChoice(
            "unresolved_known",
            "unresolved, a failure or an exceedance known",
            those(lambda row: row.resolution.label is None and known_words(row.resolution)),
        ),
        StateChoice(UNRESOLVED, "unresolved", those(lambda row: row.resolution.label is None)),
    ]


def _listing(request: HttpRequest, study: Study, panel: Panel) -> Listing:
    rows = {row.configuration.pk: row for row in panel.rows}
    queryset = Configuration.objects.filter(study=study).select_related("study", "pool")
    return list_configurations(
        request,
        queryset,
        _states(panel),
        lambda found: PlannedTable(found, request=request, rows_by_pk=rows),
    )


def configurations(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    panel, problem = panel_or_problem(study)
    if panel is None:
        return study_page(request, study, "configurations", problem=problem)
    listing = _listing(request, study, panel)
    response = study_page(
        request,
        study,
        "configurations",
        listing=listing,
        sentence=f"{len(panel.resolved)} of {len(panel.rows)} planned configurations have a label.",
    )
    response.status_code = listing.status
    return response


def configurations_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The filtered list with every setting, what was observed, and every method's prediction."""
    study = get_study(slug)
    panel, problem = panel_or_problem(study)
    if panel is None:
        return HttpResponse(problem, status=409, content_type="text/plain")
    return download_configurations(_listing(request, study, panel), f"{slug}-configurations", _columns(panel))


def _columns(panel: Panel) -> dict[str, Callable[[Configuration], Any]]:
    """A reader for each column that stands behind the settings."""
    cells = {row.configuration.pk: flat_cells(row) for row in panel.rows}
    rows = {row.configuration.configuration_id: row for row in panel.rows}
    for item in load_development(panel.study, panel.resolutions):
        for prediction in item.panel:
            row, name = rows[prediction.configuration_id], f"{WORD}_{item.method}"
            cells[row.configuration.pk] |= prediction_cells(
                name, prediction.predicted_state, prediction.predicted_peak_mib, row.resolution
            )
    names = dict.fromkeys(name for found in cells.values() for name in found)

    def read(name: str) -> Callable[[Configuration], Any]:
        return lambda record: cells[record.pk].get(name)

    return {name: read(name) for name in names}
