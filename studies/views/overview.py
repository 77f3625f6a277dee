"""What was predicted, what is resolved, and who approved what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse

from rlvram_site.ledger.chain import head
from rlvram_site.marks import MARKS
from studies.estimation.development import WORD, summary
from studies.estimation.labels import UNDECIDED, Label
from studies.figures.approvals import APPROVED, LEFT, Group, MethodCounts, approvals_figure
from studies.figures.panel import PanelTarget, panel_figure
from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.life import life
from studies.services.plan import amendments, protocols
from studies.services.predictions.seals import seal_state
from studies.services.scores.costs import panel_cost
from studies.services.scores.development import Development, load_development
from studies.services.scores.evaluation import always_rule, panel_evaluation
from studies.services.scores.folds import recorded_folds
from studies.services.scores.panel import SLOT_MARKS, Panel, cell_state, load_panel
from studies.services.whose_word import words
from studies.text.sentences import amendments_text, error_patterns, panel_sentence
from studies.text.words import family_words, label_words
from studies.views.common import get_study, study_page
from studies.views.costs import three_scopes


@dataclass(frozen=True)
class MethodLine:
    """One method (or the always-rule) on one panel or family: its approvals by state, and its scores.

    ``kind`` is ``development`` for a method that was added when the labels were public.
    """

    name: str
    counts: Mapping[str, int]
    scores: Mapping[str, Any]
    resolved: int
    unscored: int = 0
    is_rule: bool = False
    kind: str = ""

    @property
    def undecided(self) -> int:
        """Targets left undecided, whatever they turned out to be."""
        return sum(number for state, number in self.counts.items() if state.startswith("undecided"))

    @property
    def bars(self) -> MethodCounts:
        note = (
            f"nothing approved; right {self.scores['correct_three_state']} of {self.resolved}"
            if self.is_rule
            else ""
        )
        return MethodCounts(self.name, dict(self.counts), note, self.kind)

    @property
    def approved(self) -> int:
        return self.bars.approved


@dataclass(frozen=True)
class FamilyTable:
    """One held-out family: how many targets of each label, and each method's scores on them."""

    family: str
    title: str
    note: str
    lines: list[MethodLine]


def overview(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        context = _context(study)
    except UNREADABLE as error:
        context = {"problem": str(error)}
    return study_page(request, study, "study", follow_ups=list(study.follow_ups.all()), **context)


def _context(study: Study) -> dict[str, Any]:
    panel = load_panel(study)
    folds = recorded_folds(study)
    developed = load_development(study, panel.resolutions)
    families = _families(folds, developed)
    changes = amendments.effects(study)
    return {
        "panel": panel,
        "panel_figure": panel_figure(targets(panel)),
        "names": [state for state in MARKS if any(state in row.cells.values() for row in panel.rows)],
        "developed": developed,
        **_developed_panel(panel, developed),
        "families": families,
        "folds_figure": approvals_figure([_group(table) for table in families]) if families else None,
        "patterns": error_patterns(folds),
        "changes": changes,
        "amendments": amendments_text([change.word.value for change in changes]),
        "protocol": protocols.base_protocol(study),
        "seal": seal_state(study),
        "life": life(study, panel.slots),
        "words": words(study),
        "costs": three_scopes(panel_cost(study)),
        "head": head(study.stream),
        **_predicted(panel),
    }


def _predicted(panel: Panel) -> dict[str, Any]:
    """What can be said once something is predicted."""
    if panel.prediction_set is None:
        resolved = f"{len(panel.resolved)} of {len(panel.rows)} configurations resolved"
        return {"sentence": f"{resolved}; nothing is predicted yet."}
    evaluation = panel_evaluation(panel)
    lines = _panel_lines(panel, evaluation)
    rule = next((line for line in lines if line.is_rule), None)
    title = f"This panel: {len(panel.resolved)} of {len(panel.rows)} resolved"
    note = "hatched: approved and unscored, on the same scale"
    return {
        "sentence": panel_sentence(evaluation),
        "evaluation": evaluation,
        "lines": lines,
        "rule": rule,
        "rule_label": label_words(rule.scores["label"]) if rule else "",
        "approvals_figure": approvals_figure([Group(title, note, [line.bars for line in lines])]),
    }


def _developed_panel(panel: Panel, developed: Sequence[Development]) -> dict[str, Any]:
    """What methods in development say of the panel; empty without any."""
    cells: dict[str, dict[str, str]] = {row.configuration.configuration_id: {} for row in panel.rows}
    lines = []
    for item in developed:
        for prediction in item.panel:
            name = prediction.configuration_id
            cells[name][item.method] = cell_state(prediction.predicted_state, panel.resolutions[name])
        states = [found[item.method] for found in cells.values() if item.method in found]
        counts = {state: states.count(state) for state in (*APPROVED, *LEFT, "undecided_unscored")}
        scores = summary(item.panel, item.truths)
        lines.append(MethodLine(item.method, counts, scores, len(panel.resolved), kind=WORD))
    if not lines:
        return {}
    shown = [replace(target, states=cells[target.configuration_id]) for target in targets(panel)]
    return {
        "developed_lines": lines,
        "developed_cells": cells,
        "developed_figure": panel_figure(shown),
        "developed_names": [
            state for state in MARKS if any(state in found.values() for found in cells.values())
        ],
    }


def targets(panel: Panel) -> list[PanelTarget]:
    """The panel's rows as its figure takes them."""
    names = _row_names(panel)
    return [
        PanelTarget(
            configuration_id=row.configuration.configuration_id,
            row=names[row.configuration.configuration_id],
            gpu_count=row.configuration.gpu_count,
            label=row.resolution.label,
            seeds=row.seeds,
            slots="".join(SLOT_MARKS[slot.outcome.kind] for slot in row.slots),
            states=row.cells,
        )
        for row in panel.rows
    ]


def _row_names(panel: Panel) -> dict[str, str]:
    """What tells rows apart: workload and level, the model where there are several, at last the id."""
    several = len({row.configuration.model_name for row in panel.rows}) > 1
    names: dict[str, str] = {}
    taken: set[tuple[str, int]] = set()
    for item in (row.configuration for row in panel.rows):
        parts = [item.model_name] if several else []
        name = " · ".join([*parts, item.workload_name, item.configuration_level])
        if (name, item.gpu_count) in taken:
            name = f"{item.configuration_id} · {name}"
        taken.add((name, item.gpu_count))
        names[item.configuration_id] = name
    return names


def _panel_lines(panel: Panel, evaluation: Mapping[str, Any]) -> list[MethodLine]:
    lines = []
    for method in panel.methods:
        states = [row.cells[method] for row in panel.rows]
        counts = {state: states.count(state) for state in (*APPROVED, *LEFT, "undecided_unscored")}
        scores = evaluation["resolved_subset_metrics"][method]
        unscored = evaluation["approvals"][method]["unscored_approved_configurations"]
        lines.append(MethodLine(method, counts, scores, len(panel.resolved), unscored))
    rule = always_rule(panel)
    if rule:
        scores = {**rule["scores"], "label": rule["label"]}
        lines.append(
            MethodLine(rule["rule"], _counts(rule["scores"]), scores, len(panel.resolved), is_rule=True)
        )
    return lines


def _counts(scores: Mapping[str, Any]) -> dict[str, int]:
    """Scored approvals and rejections by state, from a method's scores."""
    return {
        "useful": scores["approved_within_margin"],
        "approved_above_margin": scores["approved_above_margin"],
        "approved_failed": scores["approved_memory_failure"],
        "rejected_usable": scores["rejected_within_margin"],
        "undecided_usable": _undecided(scores, usable=True),
        "undecided_other": _undecided(scores, usable=False),
    }


def _undecided(scores: Mapping[str, Any], *, usable: bool) -> int:
    """Undecided targets by whether they were usable, from a study's scores or a summary's counts."""
    if "undecided_other" in scores:
        return scores["undecided_within_margin" if usable else "undecided_other"]
    row = scores["confusion_matrix_predicted_rows_observed_columns"].get(UNDECIDED.value, {})
    return sum(number for label, number in row.items() if (label == Label.WITHIN_MARGIN) is usable)


def _families(folds: Mapping[str, Mapping[str, Any]], developed: Sequence[Development]) -> list[FamilyTable]:
    tables = []
    for family, by_method in folds.items():
        first = next(iter(by_method.values()))
        number = first["distinct_target_configurations"]
        found = [
            f"{first[f'target_{label}']} {words}"
            for label, words in (
                ("within_margin", "usable"),
                ("above_margin", "above"),
                ("memory_failure", "failing"),
            )
        ]
        lines = [MethodLine(name, _counts(scores), scores, number) for name, scores in by_method.items()]
        for item in developed:
            if family in item.folds:
                counts = summary(item.folds[family], item.truths)
                lines.append(MethodLine(item.method, _counts(counts), counts, number, kind=WORD))
        tables.append(
            FamilyTable(family, family_words(family), f"{number} held out: {', '.join(found)}", lines)
        )
    return tables


def _group(table: FamilyTable) -> Group:
    return Group(table.title, table.note, [line.bars for line in table.lines])
