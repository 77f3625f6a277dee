"""What was predicted, what is resolved, and who approved what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from rlvram_site.ledger.chain import head
from rlvram_site.marks import MARKS
from rlvram_site.tables.paging import page_of
from studies.estimation.development import PANEL, WORD, summary
from studies.estimation.labels import UNDECIDED, Label
from studies.figures.approvals import APPROVED, LEFT, Group, MethodCounts, approvals_figure
from studies.figures.groups import StateGroup, groups_figure
from studies.figures.panel import PanelTarget, panel_figure
from studies.models import Configuration, Study
from studies.services.errors import UNREADABLE
from studies.services.lead import lead
from studies.services.life import life
from studies.services.plan import amendments, protocols
from studies.services.predictions.seals import seal_state
from studies.services.scores.costs import panel_cost
from studies.services.scores.development import Development, load_development
from studies.services.scores.folds import recorded_folds
from studies.services.scores.panel import SLOT_MARKS, PanelRow
from studies.services.scores.panel_groups import group_names, groups_called, is_large
from studies.services.scores.panel_lines import (
    PanelLine,
    PanelNumbers,
    cells_of,
    counted_cells,
    counted_evaluation,
    counted_rule,
    counted_scores,
    in_panel_order,
    lines,
    panel_numbers,
    tallies_of,
)
from studies.services.whose_word import words
from studies.text.sentences import amendments_text, error_patterns, panel_sentence
from studies.text.words import family_words, label_words
from studies.views.common import get_study, study_page
from studies.views.costs import three_scopes
from studies.views.targets import targets_address

GROUPS_DRAWN = 12
GROUPS_PER_PAGE = 24


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
    links: Mapping[str, str] = field(default_factory=dict)

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
        return MethodCounts(self.name, dict(self.counts), note, self.kind, self.links)

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
        context = _context(study, request)
    except UNREADABLE as error:
        context = {"problem": str(error)}
    return study_page(request, study, "study", follow_ups=list(study.follow_ups.all()), **context)


def _context(study: Study, request: HttpRequest) -> dict[str, Any]:
    panel = panel_numbers(study)
    folds = recorded_folds(study)
    developed = load_development(study)
    families = _families(study, folds, developed)
    changes = amendments.effects(study)
    counts = {method: counted_cells(tallies) for method, tallies in panel.tallies.items()}
    return {
        "panel": panel,
        **_shown(panel, developed, request),
        "names": [state for state in MARKS if any(found[state] for found in counts.values())],
        "developed": developed,
        "families": families,
        "folds_figure": approvals_figure([_group(table) for table in families]) if families else None,
        "patterns": [
            (found, targets_address(study, found.family, found.method, found.kind))
            for found in error_patterns(folds)
        ],
        "changes": changes,
        "amendments": amendments_text([change.word.value for change in changes]),
        "protocol": protocols.base_protocol(study),
        "seal": seal_state(study),
        "lead": lead(study, panel.seal),
        "life": life(study),
        "words": words(study),
        "costs": three_scopes(panel_cost(study)),
        "head": head(study.stream),
        **_predicted(panel),
    }


def _shown(panel: PanelNumbers, developed: Sequence[Development], request: HttpRequest) -> dict[str, Any]:
    """The panel cell by cell; a large one by group, with a way down."""
    if not is_large(panel):
        rows = lines(panel, in_panel_order(panel.study).values_list("pk", flat=True))
        figure = panel_figure(targets(rows))
        return {"rows": rows, "panel_figure": figure, **_developed_panel(panel, rows, developed)}
    names = group_names(panel)
    configurations = reverse("configurations", args=[panel.study.slug])
    page = page_of(request, names, GROUPS_PER_PAGE, "groups")
    largest = [
        StateGroup(group.words, group.observed, f"{configurations}?{group.query}")
        for group in groups_called(panel, names[:GROUPS_DRAWN])
    ]
    page.object_list = groups_called(panel, page.object_list)
    return {
        "groups": page,
        "groups_drawn": len(largest),
        "groups_figure": groups_figure(largest),
        **_developed_panel(panel, [], developed),
    }


def _predicted(panel: PanelNumbers) -> dict[str, Any]:
    """What can be said once something is predicted."""
    if panel.prediction_set is None:
        resolved = f"{panel.resolved} of {panel.planned} configurations resolved"
        return {"sentence": f"{resolved}; nothing is predicted yet."}
    evaluation = counted_evaluation(panel)
    found = _panel_lines(panel, evaluation)
    rule = next((line for line in found if line.is_rule), None)
    title = f"This panel: {panel.resolved} of {panel.planned} resolved"
    note = "hatched: approved and unscored, on the same scale"
    return {
        "sentence": panel_sentence(evaluation),
        "lines": found,
        "rule": rule,
        "rule_label": label_words(rule.scores["label"]) if rule else "",
        "approvals_figure": approvals_figure([Group(title, note, [line.bars for line in found])]),
    }


def _developed_panel(
    panel: PanelNumbers, rows: Sequence[PanelLine], developed: Sequence[Development]
) -> dict[str, Any]:
    """What methods in development say of the panel, and of each of ``rows``; empty without any."""
    sets = {item.method: item.sets[PANEL] for item in developed if PANEL in item.sets}
    if not sets:
        return {}
    found, names = [], Counter[str]()
    for method, prediction_set in sets.items():
        tallies = tallies_of(prediction_set)[method]
        counts = counted_cells(tallies)
        names += counts
        links = _links(panel.study, PANEL, method, counts)
        scores = counted_scores(tallies)
        found.append(MethodLine(method, _drawn(counts), scores, panel.resolved, kind=WORD, links=links))
    cells = cells_of(list(sets.values()), rows)
    return {
        "developed_lines": found,
        "developed_figure": panel_figure(
            [
                replace(target, states=cells[row.configuration.pk])
                for target, row in zip(targets(rows), rows, strict=True)
            ]
        )
        if rows
        else None,
        "developed_names": [state for state in MARKS if names[state]],
    }


def _drawn(counts: Mapping[str, int]) -> dict[str, int]:
    return {state: counts.get(state, 0) for state in (*APPROVED, *LEFT, "undecided_unscored")}


def targets(rows: Sequence[PanelLine | PanelRow]) -> list[PanelTarget]:
    """Configurations as the panel's figure takes them."""
    names = _row_names([row.configuration for row in rows])
    return [
        PanelTarget(
            configuration_id=row.configuration.configuration_id,
            row=names[row.configuration.configuration_id],
            gpu_count=row.configuration.gpu_count,
            label=row.resolution.label,
            seeds=row.seeds,
            slots="".join(SLOT_MARKS[slot.outcome.kind] for slot in row.slots),
            states=row.cells,
            address=row.configuration.get_absolute_url(),
        )
        for row in rows
    ]


def _row_names(configurations: Sequence[Configuration]) -> dict[str, str]:
    """What tells rows apart: workload and level, the model where there are several, at last the id."""
    several = len({item.model_name for item in configurations}) > 1
    names: dict[str, str] = {}
    taken: set[tuple[str, int]] = set()
    for item in configurations:
        parts = [item.model_name] if several else []
        name = " · ".join([*parts, item.workload_name, item.configuration_level])
        if (name, item.gpu_count) in taken:
            name = f"{item.configuration_id} · {name}"
        taken.add((name, item.gpu_count))
        names[item.configuration_id] = name
    return names


def _panel_lines(panel: PanelNumbers, evaluation: Mapping[str, Any]) -> list[MethodLine]:
    found = []
    for method, tallies in panel.tallies.items():
        scores = evaluation["resolved_subset_metrics"][method]
        unscored = evaluation["approvals"][method]["unscored_approved_configurations"]
        counts = _drawn(counted_cells(tallies))
        links = _links(panel.study, PANEL, method, counts)
        found.append(MethodLine(method, counts, scores, panel.resolved, unscored, links=links))
    rule = counted_rule(panel)
    if rule:
        scores = {**rule["scores"], "label": rule["label"]}
        found.append(MethodLine(rule["rule"], _counts(rule["scores"]), scores, panel.resolved, is_rule=True))
    return found


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


def _family_line(
    study: Study, family: str, method: str, scores: Mapping[str, Any], number: int, kind: str = ""
) -> MethodLine:
    counts = _counts(scores)
    links = _links(study, family, method, counts)
    return MethodLine(method, counts, scores, number, kind=kind, links=links)


def _links(study: Study, scope: str, method: str, counts: Mapping[str, int]) -> dict[str, str]:
    """Where the configurations of each state stand that a method brought any into."""
    return {state: targets_address(study, scope, method, state) for state, number in counts.items() if number}


def _families(
    study: Study, folds: Mapping[str, Mapping[str, Any]], developed: Sequence[Development]
) -> list[FamilyTable]:
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
        lines = [_family_line(study, family, name, scores, number) for name, scores in by_method.items()]
        for item in developed:
            if family in item.folds:
                counts = summary(item.folds[family], item.truths)
                lines.append(_family_line(study, family, item.method, counts, number, kind=WORD))
        tables.append(
            FamilyTable(family, family_words(family), f"{number} held out: {', '.join(found)}", lines)
        )
    return tables


def _group(table: FamilyTable) -> Group:
    return Group(table.title, table.note, [line.bars for line in table.lines])
