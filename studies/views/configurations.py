"""A study's planned configurations: filtered, sorted, paged, with what became of each."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from studies.estimation.labels import UNRESOLVED
from studies.models import Configuration, Study
from studies.services.scores.panel import Panel, PanelRow
from studies.text.words import label_words
from studies.views.common import get_study, panel_or_problem, study_page
from studies.views.filters import StateChoice
from studies.views.listing import Listing, download_configurations, list_configurations
from studies.views.tables import StudyTable, known_words

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
        lambda found: StudyTable(found, request=request, rows_by_pk=rows),
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


def _columns(panel: Panel) -> dict:
    rows = {row.configuration.pk: row for row in panel.rows}

    def read(wanted):
        return lambda record: wanted(rows[record.pk])

    columns = {
        "observed_state": read(lambda row: row.resolution.state),
        "known_memory_failure": read(lambda row: row.resolution.known_memory_failure),
        "known_margin_exceedance": read(lambda row: row.resolution.known_margin_exceedance),
        "completed_processes": read(lambda row: row.resolution.completed_processes),
        "completed_peak_mib": read(lambda row: row.resolution.completed_peak_mib),
        "eligible_seeds": read(lambda row: _joined(row.resolution.eligible_seeds)),
        "unresolved_seeds": read(lambda row: _joined(row.resolution.unresolved_seeds)),
    }
    for method in panel.methods:
        columns[f"{method}_predicted_state"] = read(lambda row, name=method: _predicted(row, name, "label"))
        columns[f"{method}_predicted_peak_mib"] = read(
            lambda row, name=method: _predicted(row, name, "peak_mib")
        )
    return columns


def _joined(seeds: tuple[int, ...]) -> str:
    return ";".join(map(str, seeds))


def _predicted(row: PanelRow, method: str, field: str):
    return getattr(row.predictions[method], field) if method in row.predictions else None
