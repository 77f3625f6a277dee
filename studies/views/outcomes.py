"""What became of every planned slot, its attempts, and predicted against measured peaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from django import forms
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from rlvram_site.tables.paging import page_of
from studies.figures.memory import Band, memory_figure
from studies.figures.peaks import PeakPoint, predicted_against_measured
from studies.figures.slots import SlotGroup, slots_figure
from studies.models import Attempt, Configuration, PredictionSet, SeedSlot, Study
from studies.services.errors import UNREADABLE
from studies.services.outcomes.evidence_files import files_of_attempt
from studies.services.outcomes.memory_timeline import MemoryTimeline, memory_timeline, unreadable_samples
from studies.services.outcomes.slots import LARGE_COLUMNS, AttemptState, attempt_states, slot_states
from studies.services.predictions.recorded import fold_sets, panel_set
from studies.services.scores.folds import FoldRow, load_fold
from studies.services.scores.panel import PanelRow, load_panel
from studies.services.scores.panel_groups import is_large
from studies.services.scores.panel_lines import (
    PanelLine,
    PanelNumbers,
    SlotLine,
    SlotNumbers,
    in_panel_order,
    lines,
    panel_numbers,
    slot_numbers,
)
from studies.text.sentences import MOST_REASONS, outcomes_sentence
from studies.text.tries import tries_sentence
from studies.text.words import label_words, method_words, sentence, set_words
from studies.views.common import get_study, study_page

ROWS_PER_PAGE = 50


@dataclass(frozen=True)
class GridRow:
    """One configuration of the slot grid: a cell per seed of the page, None where none is planned."""

    row: PanelLine
    cells: Sequence[tuple[SlotLine, str] | None]


def outcomes(request: HttpRequest, slug: str) -> HttpResponse:
    """The slot grid, and predicted against measured peaks of one prediction set."""
    study = get_study(slug)
    try:
        panel = panel_numbers(study)
    except UNREADABLE as error:
        return study_page(request, study, "outcomes", problem=str(error))
    page = page_of(request, in_panel_order(study).values_list("pk", flat=True), ROWS_PER_PAGE)
    rows = lines(panel, page)
    seeds = sorted({item.slot.seed for row in rows for item in row.slots})
    counts = slot_numbers(study)
    peaks = _peaks(request, study, panel)
    response = study_page(
        request,
        study,
        "outcomes",
        panel=panel,
        sentence=outcomes_sentence(counts),
        figure=slots_figure(_groups(counts)),
        seeds=seeds,
        page_of_rows=page,
        grid=[_grid_row(row, seeds) for row in rows],
        **_unplanned(request, study),
        **peaks,
    )
    response.status_code = 400 if peaks["form"].errors else 200
    return response


def _grid_row(row: PanelLine, seeds: Sequence[int]) -> GridRow:
    by_seed = {item.slot.seed: item for item in row.slots}
    return GridRow(row, [(by_seed[seed], by_seed[seed].state) if seed in by_seed else None for seed in seeds])


def _unplanned(request: HttpRequest, study: Study) -> dict[str, Any]:
    """A page of the attempts that belong to no slot, superseded entries among them."""
    rows = Attempt.objects.filter(study=study, slot=None).defer(*LARGE_COLUMNS).order_by("pk")
    rows = rows.annotate(is_superseded=Exists(Attempt.objects.filter(supersedes=OuterRef("pk"))))
    page = page_of(request, rows, ROWS_PER_PAGE, "unplanned")
    return {"unplanned": page}


def _groups(counts: Sequence[SlotNumbers]) -> list[SlotGroup]:
    """The slots counted by GPU count, state and reason; of many reasons, those that most slots have."""
    reasons = Counter[str]()
    for item in counts:
        reasons[item.reason] += item.number
    named = {reason for reason, _ in reasons.most_common(MOST_REASONS)}
    numbers = Counter[tuple[str, str, int]]()
    for item in counts:
        reason = item.reason if item.reason in named or not item.reason else "another reason"
        numbers[item.state, reason, item.gpu_count] += item.number
    return [
        SlotGroup(kind, f"unresolved: {reason}" if reason else label_words(kind), gpus, number)
        for (kind, reason, gpus), number in numbers.items()
    ]


class SetForm(forms.Form):
    """Which prediction set's peaks to draw. The panel's and each family's are never put together."""

    set = forms.ChoiceField(label="Targets", required=False)

    def __init__(self, data: Any, sets: Iterable[PredictionSet]) -> None:
        super().__init__(data)
        field = cast(forms.ChoiceField, self.fields["set"])
        field.choices = [(item.name, set_words(item.fold)) for item in sets]
        expected = ", ".join(key for key, _ in field.choices)
        field.error_messages["invalid_choice"] = f"set is “%(value)s”, expected one of: {expected}"


@dataclass(frozen=True)
class PeakFigure:
    """One method's figure and its recorded errors; no figure where the method predicts no peak."""

    name: str
    identifier: str
    figure: Any
    errors: dict[str, Any]


def _peaks(request: HttpRequest, study: Study, panel: PanelNumbers) -> dict[str, Any]:
    own = panel_set(study)
    sets = [*([own] if own else []), *fold_sets(study)]
    form = SetForm({"set": "panel", **request.GET.dict()} if own else request.GET, sets)
    by_key = {item.name: item for item in sets}
    if not form.is_valid() or not sets:
        return {"form": form, "sets": sets}
    chosen = by_key.get(form.cleaned_data["set"], sets[0])
    if not chosen.fold and is_large(panel):
        return {"form": form, "sets": sets, "too_many": panel.planned}
    rows: Sequence[PanelRow | FoldRow] = load_fold(chosen) if chosen.fold else load_panel(study).rows
    return {
        "form": form,
        "sets": sets,
        "chosen": set_words(chosen.fold) if chosen.fold else "the panel",
        "completed": sum(row.resolution.completed_peak_mib is not None for row in rows),
        "targets": len(rows),
        "figures": [_peak_figure(method, rows, panel, _scores(chosen)) for method in _methods(rows)],
    }


def _methods(rows: Sequence[PanelRow | FoldRow]) -> list[str]:
    return list(dict.fromkeys(method for row in rows for method in row.predictions))


def _scores(chosen: PredictionSet) -> dict[str, Any]:
    """The newest recorded scores of a set, by method; empty before its first evaluation."""
    evaluation = chosen.evaluations.order_by("-pk").first()
    if evaluation is None:
        return {}
    return evaluation.result.get("scores") or evaluation.result.get("resolved_subset_metrics") or {}


def _peak_figure(
    method: str, rows: Sequence[PanelRow | FoldRow], panel: PanelNumbers, scores: dict[str, Any]
) -> PeakFigure:
    points = [
        PeakPoint(
            configuration_id=row.configuration.configuration_id,
            state=row.cells[method],
            predicted_mib=row.predictions[method].peak_mib,
            measured_mib=row.resolution.completed_peak_mib,
            resolved=row.resolution.label is not None,
            link=row.configuration.get_absolute_url(),
        )
        for row in rows
        if method in row.predictions
    ]
    some = any(point.predicted_mib is not None for point in points)
    drawn = predicted_against_measured(points, margin_mib=panel.margin_mib, capacity_mib=panel.capacity_mib)
    return PeakFigure(
        sentence(method_words(method)),
        f"peaks-{method.replace('_', '-')}",
        drawn if some else None,
        scores.get(method, {}),
    )


def slot(request: HttpRequest, slug: str, experiment_id: str) -> HttpResponse:
    """One seed slot with all its attempts."""
    study = get_study(slug)
    found = get_object_or_404(
        SeedSlot.objects.select_related("configuration__study", "configuration__pool"),
        study=study,
        experiment_id=experiment_id,
    )
    shown = Attempt.objects.prefetch_related("exclusions__superseded_by", files_of_attempt())
    held = slot_states([found], attempts=shown)[found.pk]
    return study_page(
        request,
        study,
        "slot",
        slot=held,
        state=held.state(found.configuration.margin_limit_mib),
        configuration=found.configuration,
        tries=tries_sentence(held),
        attempts=held.attempts,
    )


def attempt(request: HttpRequest, slug: str, invocation_id: str) -> HttpResponse:
    """One attempt, planned or not."""
    study = get_study(slug)
    found = get_object_or_404(
        Attempt.objects.select_related(
            "slot__configuration__study", "slot__configuration__pool"
        ).prefetch_related("exclusions__superseded_by", files_of_attempt()),
        study=study,
        invocation_id=invocation_id,
    )
    configuration = found.slot.configuration if found.slot else None
    memory = memory_timeline(found) if configuration else None
    return study_page(
        request,
        study,
        "attempt",
        item=_with_role(found),
        configuration=configuration,
        memory=memory,
        unreadable=unreadable_samples(found),
        memory_figure=_memory_figure(memory, configuration) if memory and configuration else None,
    )


def _memory_figure(memory: MemoryTimeline, configuration: Configuration):
    return memory_figure(
        memory.devices,
        [Band(phase.name, phase.start_s, phase.end_s) for phase in memory.phases],
        margin_mib=configuration.margin_limit_mib,
        capacity_mib=configuration.device_capacity_mib,
    )


def _with_role(found: Attempt) -> AttemptState:
    """The attempt as its slot sees it, beside the slot's other attempts."""
    state = attempt_states([found])[found.pk]
    # The row at hand has its files and exclusions loaded, the state's own has not.
    return replace(state, attempt=found)
