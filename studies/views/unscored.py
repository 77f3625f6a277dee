"""Approvals that nothing has confirmed or refuted yet, one row each."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from rlvram_site.marks import UNSCORED_APPROVALS
from rlvram_site.tables.paging import page_of
from studies.services.errors import UNREADABLE
from studies.services.scores.panel_lines import (
    PanelLine,
    counted_evaluation,
    in_panel_order,
    lines,
    panel_numbers,
)
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
    rows = [
        (line, approved_by(line), missing_seeds(line), what_would_resolve(line))
        for line in lines(panel, page)
    ]
    return study_page(
        request, study, "unscored", panel=panel, sentence=sentence, rows=rows, page_of_rows=page
    )


def approved_by(line: PanelLine) -> list[str]:
    """The methods that approve the configuration while it is unscored."""
    return [method for method, state in line.cells.items() if state in UNSCORED_APPROVALS]


def missing_seeds(line: PanelLine) -> list[tuple[str, str]]:
    """The unresolved seeds by reason, ``("151, 152", "host memory …")``."""
    by_reason: dict[str, list[str]] = {}
    for slot in line.unresolved_slots:
        by_reason.setdefault(slot.reason, []).append(str(slot.slot.seed))
    return [(", ".join(seeds), reason) for reason, seeds in by_reason.items()]
