"""What was predicted, what is resolved, and who approved what."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from studies.views.common import get_study, study_page


def overview(request: HttpRequest, slug: str) -> HttpResponse:
    return study_page(request, get_study(slug), "study")
