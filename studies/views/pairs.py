"""Matched pairs: what different numbers of GPUs did with the same workload, level and seed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from rlvram_site.tables.paging import page_of
from studies.services.errors import UNREADABLE
from studies.services.scores.pairs import PairNumbers, pair_names, pair_numbers, pairs_called
from studies.services.scores.panel_lines import panel_numbers
from studies.text.words import count_word, counted, sentence
from studies.views.common import get_study, study_page

PER_PAGE = 50


def pairs(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    try:
        panel = panel_numbers(study)
        page = page_of(request, pair_names(study), PER_PAGE)
        rows = pairs_called(panel, list(page))
    except UNREADABLE as error:
        return study_page(request, study, "pairs", sentence=f"No pair can be shown: {error}.")
    return study_page(
        request,
        study,
        "pairs",
        pairs=rows,
        panel=panel,
        page_of_rows=page,
        sentence=_sentence(pair_numbers(study)),
    )


def _sentence(numbers: PairNumbers) -> str:
    if not numbers.pairs:
        return "No matched pair is planned."
    eligible, completed = numbers.both_eligible, numbers.both_completed
    if completed:
        tail = f"{count_word(completed)} completed on both sides, and only they give a difference"
    else:
        tail = "none completed on both sides, so there is no difference to report"
    both = f"{count_word(eligible) if eligible else 'none'} with an eligible outcome on both sides"
    return sentence(f"{counted(numbers.pairs, 'matched pair')}: {both}, {tail}.")
