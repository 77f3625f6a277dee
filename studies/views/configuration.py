"""One configuration: its settings, its volumes, what each method predicted and why, and what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from studies.estimation.cells import cell_state
from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label, Resolution
from studies.estimation.reasons import Reasons
from studies.figures.peaks import PeakRow, own_peaks
from studies.figures.volumes import Bar, Segment, volumes_figure
from studies.models import Configuration, Pool, PoolOutcome, Prediction, PredictionSet
from studies.services.errors import ServiceError
from studies.services.outcomes.grounds import Ground, grounds
from studies.services.outcomes.slots import SlotState
from studies.services.predictions.explanations import RecordedFits, Volumes, volumes_of
from studies.services.predictions.recorded import in_method_order
from studies.services.scores.folds import measured
from studies.services.scores.panel import PanelRow, load_row
from studies.text.sentences import feature_words, planned_sentence, pool_sentence
from studies.text.settings import SettingRow, differences, settings_rows
from studies.text.words import family_words, method_words, sentence, set_words
from studies.views.common import get_study, study_page

MIB_PER_GIB = 1024
MOST_COPIES = 200


@dataclass(frozen=True)
class PredictionLine:
    """One method's prediction as the page shows it.

    Attributes:
        prediction: the recorded row.
        name: the method in words.
        state: key of the site's marks; empty where nothing is known to score it with.
        donor_differences: settings in which the donor differs; ``others`` holds the donor's value.
        reasons: the method's own, from the recorded fit; None where that can't be applied again.
    """

    prediction: Prediction
    name: str
    state: str
    donor_differences: Sequence[SettingRow]
    reasons: Reasons | None


@dataclass(frozen=True)
class SetView:
    """One prediction set's word on this configuration: every method, and the recorded fit applied again."""

    prediction_set: PredictionSet
    title: str
    lines: Sequence[PredictionLine]
    problem: str

    @property
    def development(self) -> bool:
        """Whether its method was added when the labels were public."""
        return _in_development(self.prediction_set)


def configuration(request: HttpRequest, slug: str, configuration_id: str) -> HttpResponse:
    """A planned configuration of a study."""
    study = get_study(slug)
    found = get_object_or_404(
        study.configurations.select_related("study__pool", "study__parent", "pool"),
        configuration_id=configuration_id,
    )
    row = load_row(study, found)
    known = grounds(study, [item.attempt for slot in row.slots for item in slot.attempts])
    sets = _sets(found, row.resolution)
    context = _context(found, sets) | {
        "slots": [_slot_line(slot, found.margin_limit_mib, known) for slot in row.slots],
        "sentence": planned_sentence(row),
        "peaks": _peaks(found, sets, _slot_peaks(row)),
    }
    return study_page(request, study, "configuration", **context)


def pool_configuration(request: HttpRequest, slug: str, configuration_id: str) -> HttpResponse:
    """A configuration that was measured before any study was planned."""
    pool = get_object_or_404(Pool, slug=slug)
    found = get_object_or_404(
        pool.configurations.select_related("pool", "study", "pool_outcome"), configuration_id=configuration_id
    )
    outcome = getattr(found, "pool_outcome", None)
    sets = _sets(found, _measured(found, outcome))
    context = _context(found, sets) | {
        "pool": pool,
        "outcome": outcome,
        "sentence": pool_sentence(found, outcome),
        "peaks": _peaks(found, sets, _pool_peaks(outcome)),
    }
    return render(request, "studies/pool_configuration.html", context)


def _slot_line(slot: SlotState, margin_mib: float, known: Mapping[int, Ground]) -> dict[str, Any]:
    """One slot with its attempts, each beside what its outcome rests on."""
    attempts = [(item, known.get(item.attempt.pk)) for item in slot.attempts]
    return {"slot": slot, "state": slot.state(margin_mib), "attempts": attempts}


def _measured(found: Configuration, outcome: PoolOutcome | None) -> Resolution | None:
    if outcome is None or outcome.observed_state not in set(Label):
        return None
    failed = outcome.observed_state == Label.MEMORY_FAILURE
    return measured(
        found, Label(outcome.observed_state), None if failed else outcome.max_completed_run_peak_mib
    )


def _context(found: Configuration, sets: Sequence[SetView]) -> dict[str, Any]:
    """What both kinds of configuration show."""
    owner = {"study": found.study} if found.study_id else {"pool": found.pool}
    others = Configuration.objects.filter(case_id=found.case_id, **owner).exclude(pk=found.pk)
    siblings = list(others.select_related("study", "pool"))
    differing, same = settings_rows(found, siblings)
    try:
        volumes, problem = volumes_of(found), ""
    except (ServiceError, EstimationError) as error:
        volumes, problem = None, str(error)
    copies = Prediction.objects.filter(donor=found).select_related(
        "configuration__study", "configuration__pool", "prediction_set__study"
    )
    return {
        "configuration": found,
        "siblings": siblings,
        "differing": differing,
        "same": same,
        "volumes": volumes,
        "volume_rows": [(feature_words(item.name), item.name, item.gib) for item in volumes.components]
        if volumes
        else [],
        "volumes_problem": problem,
        "volumes_figure": _volumes_figure(found, volumes, sets) if volumes else None,
        "sets": sets,
        "copies": [
            (_set_title(item.prediction_set), item)
            for item in copies.order_by("prediction_set", "pk")[:MOST_COPIES]
        ],
    }


def _in_development(prediction_set: PredictionSet) -> bool:
    return prediction_set.kind == PredictionSet.Kind.DEVELOPMENT


def _set_title(prediction_set: PredictionSet) -> str:
    study = prediction_set.study.title
    return set_words(prediction_set.fold, study, development=_in_development(prediction_set))


def _sets(found: Configuration, resolution: Resolution | None) -> list[SetView]:
    """What each set predicted for the configuration, with the fit's own reasons.

    A method in development has sets of its own, of which only the newest is shown.
    """
    rows = found.predictions.select_related(
        "prediction_set__study__pool",
        "prediction_set__fitted_model__study__pool",
        "prediction_set__inherits__fitted_model__study__pool",
        "donor__pool",
        "donor__study",
    )
    grouped: dict[PredictionSet, dict[str, Prediction]] = {}
    for row in rows.order_by("prediction_set", "pk"):
        grouped.setdefault(row.prediction_set, {})[row.method] = row
    newest = {
        (key.study_id, key.fold, *named) if _in_development(key) else (key.pk,): key
        for key, named in grouped.items()
    }
    fits = RecordedFits()
    return [_set_view(key, grouped[key], found, resolution, fits) for key in newest.values()]


def _set_view(
    prediction_set: PredictionSet,
    named: dict[str, Prediction],
    found: Configuration,
    resolution: Resolution | None,
    fits: RecordedFits,
) -> SetView:
    reasons: dict[str, Reasons] = {}
    problem = ""
    try:
        reasons = fits.explain(prediction_set, list(named), found)
    except (ServiceError, EstimationError) as error:
        problem = str(error)
    lines = [
        _line(named[method], found, resolution, reasons.get(method)) for method in in_method_order(named)
    ]
    return SetView(prediction_set, _set_title(prediction_set), lines, problem)


def _line(
    prediction: Prediction, found: Configuration, resolution: Resolution | None, reasons: Reasons | None
) -> PredictionLine:
    donor = prediction.donor
    return PredictionLine(
        prediction=prediction,
        name=sentence(method_words(prediction.method)),
        state=cell_state(prediction.label, resolution) if resolution else "",
        donor_differences=differences(found, donor) if donor else (),
        reasons=reasons,
    )


def _volumes_figure(found: Configuration, volumes: Volumes, sets: Sequence[SetView]):
    bars = [
        Bar("all volumes", [Segment(feature_words(item.name), item.gib) for item in volumes.components]),
    ]
    if volumes.startup_parts:
        bars.append(
            Bar("startup guard", [Segment(feature_words(p.name), p.gib) for p in volumes.startup_parts])
        )
    for view in sets:
        for item in view.lines:
            for stack in item.reasons.stacks if item.reasons else ():
                title = f"{stack.title}<br>{stack.verdict}" if stack.verdict else stack.title
                if len({other.prediction_set.study_id for other in sets}) > 1:
                    title += f"<br>{view.title}"
                elif view.development:
                    title += "<br>development"
                parts = [Segment(feature_words(part.name), part.gib) for part in stack.parts if part.gib > 0]
                bars.append(Bar(title, parts, stack.low_gib, stack.high_gib))
    return volumes_figure(
        bars,
        margin_gib=found.margin_limit_mib / MIB_PER_GIB,
        capacity_gib=found.device_capacity_mib / MIB_PER_GIB,
    )


def _slot_peaks(row: PanelRow) -> list[PeakRow]:
    kinds = {"completed": "completed", "memory_failure": "failed", None: "unresolved"}
    return [
        PeakRow(f"seed {slot.slot.seed}", kinds[slot.outcome.kind], slot.outcome.peak_mib)
        for slot in row.slots
    ]


def _pool_peaks(outcome: PoolOutcome | None) -> list[PeakRow]:
    if outcome is None:
        return []
    rows = []
    if outcome.max_completed_run_peak_mib is not None:
        rows.append(PeakRow("largest completed", "completed", outcome.max_completed_run_peak_mib))
    if outcome.memory_failure_processes:
        rows.append(PeakRow(f"{outcome.memory_failure_processes} failed", "failed", None))
    return rows


def _peaks(found: Configuration, sets: Sequence[SetView], observed: list[PeakRow]):
    """The figure of predicted and observed peaks; None where there is nothing to draw."""
    predicted = []
    for view in [*sets[:1], *(view for view in sets[1:] if view.development)]:
        for item in view.lines:
            predicted += _predicted_rows(item, view.development)
    if not predicted and not observed:
        return None
    return own_peaks(
        [*predicted, *observed], margin_mib=found.margin_limit_mib, capacity_mib=found.device_capacity_mib
    )


def _predicted_rows(item: PredictionLine, development: bool) -> list[PeakRow]:
    """A method's peak with its interval, and the measured neighbours that it was carried over from."""
    name = method_words(item.prediction.method) + ("<br>development" if development else "")
    row = item.prediction
    rows = [PeakRow(name, "predicted", row.peak_mib, row.lower_peak_mib, row.upper_peak_mib)]
    for neighbour in item.reasons.neighbours if item.reasons else ():
        rows.append(
            PeakRow(
                f"{method_words(row.method)}<br>neighbours",
                "neighbour_failed" if neighbour.at_least else "neighbour",
                neighbour.peak_mib,
                words=f"{neighbour.configuration_id}, {family_words(neighbour.family)}",
            )
        )
    return rows
