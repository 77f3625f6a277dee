"""What every page of a study starts with."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.scores.panel import Panel, load_panel


def get_study(slug: str) -> Study:
    """The study of an address, with its pool and parent; an unknown slug is a page that says so (404)."""
    return get_object_or_404(Study.objects.select_related("pool", "parent"), slug=slug)


def study_page(
    request: HttpRequest, study: Study, page: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    """Render ``templates/studies/PAGE.html``; ``page`` is the address name, which the navigation marks."""
    return render(request, f"studies/{page}.html", {"study": study, "page": page, **context}, status=status)


def panel_or_problem(study: Study, as_of: dt.datetime | None = None) -> tuple[Panel | None, str]:
    """The panel and an empty text; or None and what is missing in a study that is still being written."""
    try:
        return load_panel(study, as_of), ""
    except UNREADABLE as error:
        return None, str(error)
