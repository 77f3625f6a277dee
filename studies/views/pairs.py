"""Matched pairs: what different numbers of GPUs did with the same workload, level and seed."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse

from studies.services.errors import UNREADABLE
from studies.services.scores.pairs import MatchedPair, matched_pairs
from studies.services.scores.panel import load_panel
from studies.text.words import count_word, counted, sentence
from studies.views.common import get_study, study_page


def pairs(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        panel = load_panel(study)
        rows = matched_pairs(panel)
    except UNREADABLE as error:
        return study_page(request, study, "pairs", sentence=f"No pair can be shown: {error}.")
    return study_page(request, study, "pairs", pairs=rows, panel=panel, sentence=_sentence(rows))


def _sentence(rows: Sequence[MatchedPair]) -> str:
    if not rows:
        return "No matched pair is planned."
    eligible = sum(row.pair.both_eligible for row in rows)
    completed = sum(row.pair.both_completed for row in rows)
    if completed:
        tail = f"{count_word(completed)} completed on both sides, and only they give a difference"
    else:
        tail = "none completed on both sides, so there is no difference to report"
    both = f"{count_word(eligible)} with an eligible outcome on both sides"
    return sentence(f"{counted(len(rows), 'matched pair')}: {both}, {tail}.")
