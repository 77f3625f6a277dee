"""Approvals that nothing has confirmed or refuted yet, one row each."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse

from rlvram_site.marks import UNSCORED_APPROVALS
from rlvram_site.tables.paging import page_of
from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.scores.panel_lines import (
    PanelLine,
    PanelNumbers,
    counted_evaluation,
    in_panel_order,
    lines,
    panel_numbers,
)
from studies.text.certain import can_only_become, certain_sentence, known_already
from studies.text.sentences import unscored_sentence
from studies.text.tries import what_would_resolve
from studies.views.common import get_study, study_page

PER_PAGE = 50


def unscored(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        panel = panel_numbers(study)
        sentence = unscored_sentence(counted_evaluation(panel))
    except UNREADABLE as error:
        return study_page(request, study, "unscored", sentence=f"No approval is unscored: {error}.")
    waiting = in_panel_order(study).filter(unscored=True).values_list("pk", flat=True)
    page = page_of(request, waiting, PER_PAGE)
    return study_page(
        request,
        study,
        "unscored",
        panel=panel,
        sentence=sentence,
        certain=_certain(study),
        rows=[_row(line, panel) for line in lines(panel, page)],
        page_of_rows=page,
    )


@dataclass(frozen=True)
class UnscoredRow:
    """One configuration that some method approves unscored, in words where they are needed."""

    line: PanelLine
    methods: list[str]
    known: str
    only: str
    missing: list[tuple[str, str]]
    wanted: str


def _row(line: PanelLine, panel: PanelNumbers) -> UnscoredRow:
    return UnscoredRow(
        line,
        approved_by(line),
        known_already([slot.outcome for slot in line.slots], panel.margin_mib),
        can_only_become(line.resolution),
        missing_seeds(line),
        what_would_resolve(line),
    )


def _certain(study: Study) -> str:
    counts = (
        in_panel_order(study)
        .filter(unscored=True)
        .order_by()
        .aggregate(
            total=Count("pk"),
            failing=Count("pk", filter=Q(known_memory_failure=True)),
            exceeding=Count("pk", filter=Q(known_margin_exceedance=True, known_memory_failure=False)),
        )
    )
    return certain_sentence(counts["failing"], counts["exceeding"], counts["total"])


def approved_by(line: PanelLine) -> list[str]:
    """The methods that approve the configuration while it is unscored."""
    return [method for method, state in line.cells.items() if state in UNSCORED_APPROVALS]


def missing_seeds(line: PanelLine) -> list[tuple[str, str]]:
    """The unresolved seeds by reason, ``("151, 152", "host memory …")``."""
    by_reason: dict[str, list[str]] = {}
    for slot in line.unresolved_slots:
        by_reason.setdefault(slot.reason, []).append(str(slot.slot.seed))
    return [(", ".join(seeds), reason) for reason, seeds in by_reason.items()]
