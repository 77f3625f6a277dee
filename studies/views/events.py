"""What happened around the invocations: preflights, arrays, repairs, host kills."""

from __future__ import annotations

from collections import Counter

from django.http import HttpRequest, HttpResponse

from studies.models import Event
from studies.text.words import counted, listed, sentence
from studies.views.common import get_study, study_page


def events(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    rows = list(Event.objects.filter(study=study))
    return study_page(request, study, "events", events=rows, sentence=_sentence(rows))


def _sentence(rows: list[Event]) -> str:
    if not rows:
        return "No event is recorded beside the planned invocations."
    numbers = Counter(row.status for row in rows)
    parts = [f"{numbers[status]} {status.label}" for status in Event.Status if numbers[status]]
    return sentence(f"{counted(len(rows), 'event')} around the invocations: {listed(parts)}.")
