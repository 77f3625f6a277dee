"""A study's planned configurations: filtered, sorted, paged, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from studies.estimation.development import PANEL, WORD
from studies.estimation.labels import UNRESOLVED, parse_answer
from studies.estimation.tables import outcome_cells, outcome_columns, prediction_cells, prediction_columns
from studies.models import Configuration, Prediction, PredictionSet, Study
from studies.services.errors import UNREADABLE
from studies.services.predictions.recorded import development_sets, method_of
from studies.services.scores.panel_lines import PanelNumbers, lines_of, panel_numbers
from studies.text.words import label_words
from studies.views.common import get_study, study_page
from studies.views.filters import StateChoice
from studies.views.listing import Listing, download_configurations, list_configurations
from studies.views.tables import PlannedTable

LABELS = ("within_margin", "above_margin", "memory_failure")
UNLABELLED = Q(projection__state=UNRESOLVED)
KNOWN = Q(projection__known_memory_failure=True) | Q(projection__known_margin_exceedance=True)
STATES = (
    *(StateChoice(label, label_words(label), Q(projection__state=label)) for label in LABELS),
    StateChoice("unresolved_known", "unresolved, a failure or an exceedance known", UNLABELLED & KNOWN),
    StateChoice(UNRESOLVED, "unresolved", UNLABELLED),
)
"""The labels, then what is known of those without one. The first that fits orders the list."""


def _listing(request: HttpRequest, study: Study, panel: PanelNumbers) -> Listing:
    return list_configurations(
        request,
        Configuration.objects.filter(study=study).select_related("study", "pool"),
        STATES,
        lambda found: PlannedTable(found, request=request, panel=panel),
        total=panel.planned,
    )


def configurations(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        panel = panel_numbers(study)
    except UNREADABLE as error:
        return study_page(request, study, "configurations", problem=str(error))
    listing = _listing(request, study, panel)
    response = study_page(
        request,
        study,
        "configurations",
        listing=listing,
        sentence=f"{panel.resolved} of {panel.planned} planned configurations have a label.",
    )
    response.status_code = listing.status
    return response


def configurations_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The filtered list with every setting, what was observed, and every method's prediction."""
    study = get_study(slug)
    try:
        panel = panel_numbers(study)
    except UNREADABLE as error:
        return HttpResponse(str(error), status=409, content_type="text/plain")
    return download_configurations(_listing(request, study, panel), f"{slug}-configurations", Columns(panel))


class Columns:
    """What stands behind the settings: a reader of so many configurations at a time."""

    def __init__(self, panel: PanelNumbers) -> None:
        self._panel = panel
        developed = [item for item in development_sets(panel.study) if item.fold == PANEL]
        named: list[tuple[PredictionSet, str, str]] = []
        if panel.prediction_set is not None:
            named += [(panel.prediction_set, method, method) for method in panel.methods]
        named += [(item, method_of(item), f"{WORD}_{method_of(item)}") for item in developed]
        self._named = {(item.pk, method): name for item, method, name in named}

    @property
    def names(self) -> list[str]:
        """The columns in their order."""
        return [
            *outcome_columns(len(self._panel.rules.evaluation_seeds)),
            *prediction_columns(list(self._named.values())),
        ]

    def read(self, records: Sequence[Configuration]) -> Iterator[list[Any]]:
        """The values of each of these configurations, in their order."""
        shown = lines_of(self._panel, {record.pk: record for record in records})
        given: dict[tuple[int, str], Prediction] = {}
        sets = {key for key, _ in self._named}
        for row in Prediction.objects.filter(
            prediction_set__in=sets, configuration__in=[record.pk for record in records]
        ).only("prediction_set", "configuration", "method", "label", "peak_mib"):
            if name := self._named.get((row.prediction_set_id, row.method)):
                given[row.configuration_id, name] = row
        names = self.names
        for line in shown:
            cells = outcome_cells(line.resolution)
            for name in self._named.values():
                if prediction := given.get((line.configuration.pk, name)):
                    answer = parse_answer(prediction.label, name)
                    cells |= prediction_cells(name, answer, prediction.peak_mib, line.resolution)
            yield [cells.get(name) for name in names]
