"""What happened around the invocations: preflights, arrays, repairs, host kills."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Count
from django.http import HttpRequest, HttpResponse

from rlvram_site.tables.paging import page_of
from studies.models import Event
from studies.text.words import counted, listed, sentence
from studies.views.common import get_study, study_page

PER_PAGE = 100


def events(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    rows = Event.objects.filter(study=study)
    page = page_of(request, rows, PER_PAGE)
    counts = rows.order_by().values_list("status").annotate(number=Count("pk"))
    return study_page(
        request, study, "events", events=list(page), page_of_rows=page, sentence=_sentence(dict(counts))
    )


def _sentence(numbers: Mapping[str, int]) -> str:
    if not numbers:
        return "No event is recorded beside the planned invocations."
    parts = [f"{numbers[status]} {status.label}" for status in Event.Status if status in numbers]
    return sentence(f"{counted(sum(numbers.values()), 'event')} around the invocations: {listed(parts)}.")
