"""What somebody tried to change in a study after the fact, and was refused."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse

from rlvram_site.access import is_staff
from rlvram_site.ledger.models import LedgerEntry
from studies.models import Refusal
from studies.text.words import counted
from studies.views.common import get_study, study_page

ROWS_PER_PAGE = 50


def refused(request: HttpRequest, slug: str) -> HttpResponse:
    """The refused changes, newest first; staff also see who tried."""
    study = get_study(slug)
    page = Paginator(study.refusals.all(), ROWS_PER_PAGE).get_page(request.GET.get("page"))
    rows = list(page)
    who: dict[int, str] = {}
    if is_staff(request.user):
        links = LedgerEntry.objects.filter(
            record_type=Refusal._meta.label_lower, record_id__in=[row.pk for row in rows]
        )
        who = dict(links.values_list("record_id", "actor"))
    sentence = f"{counted(page.paginator.count, 'change')} after the fact: asked for, and refused."
    return study_page(
        request, study, "refused", page_of_rows=page, who=bool(who),
        rows=[(row, who.get(row.pk, "")) for row in rows], sentence=sentence if rows else "",
    )  # fmt: skip
