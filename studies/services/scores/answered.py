"""The configurations behind a count: those that one method answered for, with one state, in one scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count

from rlvram_site.marks import MARKS
from studies.estimation.cells import cell_state
from studies.estimation.development import PANEL
from studies.estimation.labels import Resolution
from studies.models import CellProjection, Configuration, Prediction, Study
from studies.services.predictions.recorded import development_sets, fold_sets, in_method_order, panel_set
from studies.services.scores.development import load_development
from studies.services.scores.panel_lines import PanelNumbers, lines
from studies.services.scores.wrong import load_scopes


@dataclass(frozen=True)
class Answered:
    """One configuration with what a method answered, and what is known of it. Peaks are MiB."""

    configuration: Configuration
    predicted: str
    predicted_peak_mib: float | None
    resolution: Resolution | None
    observed: str
    completed_peak_mib: float | None
    seeds: str
    state: str


@dataclass(frozen=True)
class Behind:
    """A page of them, how many there are, and of how many the method answered for in the scope."""

    page: Page[Answered]
    answered: int
    states: dict[str, int]


def scopes_of(study: Study) -> dict[str, list[str]]:
    """The methods of each scope of the study: its panel, and each held-out family."""
    panel, development = panel_set(study), development_sets(study)
    sets = [*([panel] if panel else []), *fold_sets(study), *development]
    rows = Prediction.objects.filter(prediction_set__in=sets).order_by()
    found: dict[str, set[str]] = {item.fold: set() for item in sets}
    for fold, method in rows.values_list("prediction_set__fold", "method").distinct():
        found[fold].add(method)
    return {scope: in_method_order(names) for scope, names in found.items()}


def behind_panel(
    study: Study, numbers: PanelNumbers, method: str, state: str, number: str | None, per_page: int
) -> Behind:
    """Of the panel, whatever its size: the database finds and counts them."""
    sets = [numbers.prediction_set, *(s for s in development_sets(study) if s.fold == PANEL)]
    cells = CellProjection.objects.filter(
        prediction_set__in=[item for item in sets if item], method=method
    ).order_by("configuration__projection__workload_id", "configuration__projection__level",
               "configuration__projection__gpu_count", "configuration__projection__name")  # fmt: skip
    found = dict(cells.order_by().values_list("state").annotate(number=Count("pk")))
    counts = {name: found[name] for name in MARKS if found.get(name)}
    chosen = cells.filter(state=state) if state else cells
    page = Paginator(chosen.select_related("prediction"), per_page).get_page(number)
    shown = list(page)
    by_pk = {
        line.configuration.pk: line for line in lines(numbers, [cell.configuration_id for cell in shown])
    }
    answered = [
        Answered(
            line.configuration,
            cell.predicted,
            cell.prediction.peak_mib,
            line.resolution,
            line.resolution.state,
            line.resolution.completed_peak_mib,
            line.seeds,
            cell.state,
        )
        for cell in shown
        for line in [by_pk[cell.configuration_id]]
    ]
    shown_page: Page[Answered] = Page(answered, page.number, page.paginator)  # type: ignore[arg-type]
    return Behind(shown_page, sum(counts.values()), counts)


def behind_family(
    study: Study, family: str, method: str, state: str, number: str | None, per_page: int
) -> Behind:
    """Of one held-out family, whose targets have all been measured."""
    scope = next(item for item in load_scopes(study, None, load_development(study)) if item.family == family)
    side = next(item for item in scope.sides if item.name == method)
    rows: list[Answered] = []
    for name in sorted(side.predictions):
        truth, prediction = scope.truths.get(name), side.predictions[name]
        if truth is None:
            continue
        known = Resolution(truth.label, False, False, 0, (), (), truth.completed_peak_mib, None)
        rows.append(
            Answered(
                scope.configurations[name],
                prediction.predicted_state.value,
                prediction.predicted_peak_mib,
                None,
                truth.label.value,
                truth.completed_peak_mib,
                "",
                cell_state(prediction.predicted_state.value, known),
            )
        )
    counts = {name: sum(row.state == name for row in rows) for name in MARKS}
    chosen: Sequence[Answered] = [row for row in rows if row.state == state] if state else rows
    return Behind(
        Paginator(chosen, per_page).get_page(number),
        len(rows),
        {name: n for name, n in counts.items() if n},
    )
