"""Approvals that nothing has confirmed or refuted yet, one row each."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from rlvram_site.marks import UNSCORED_APPROVALS
from studies.services.errors import UNREADABLE
from studies.services.scores.evaluation import panel_evaluation
from studies.services.scores.panel import PanelRow, load_panel
from studies.text.sentences import unscored_sentence
from studies.text.tries import what_would_resolve
from studies.views.common import get_study, study_page


def unscored(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        panel = load_panel(study)
        sentence = unscored_sentence(panel_evaluation(panel))
    except UNREADABLE as error:
        return study_page(request, study, "unscored", sentence=f"No approval is unscored: {error}.")
    rows = [
        (row, _approved_by(row), _missing(row), what_would_resolve(row))
        for row in panel.rows
        if _approved_by(row)
    ]
    return study_page(request, study, "unscored", panel=panel, sentence=sentence, rows=rows)


def _approved_by(row: PanelRow) -> list[str]:
    return [method for method, state in row.cells.items() if state in UNSCORED_APPROVALS]


def _missing(row: PanelRow) -> list[tuple[str, str]]:
    """The unresolved seeds by reason, ``("151, 152", "host memory …")``."""
    by_reason: dict[str, list[str]] = {}
    for slot in row.unresolved_slots:
        by_reason.setdefault(slot.reason, []).append(str(slot.slot.seed))
    return [(", ".join(seeds), reason) for reason, seeds in by_reason.items()]
