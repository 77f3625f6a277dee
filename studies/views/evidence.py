"""The stored files of a study: how many there are and may be, and whether each is still what was sent."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass

from django import forms
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from rlvram_site.tables.paging import page_of
from studies.models import EvidenceBlob, EvidenceFile, StoredFile, Study
from studies.services.outcomes.evidence_bytes import Usage, usage
from studies.services.outcomes.evidence_checks import Standing, standing
from studies.text.words import counted, listed, sentence
from studies.views.common import get_study, study_page

_log = logging.getLogger(__name__)
ROWS_PER_PAGE = 50
_CHOICES = [
    ("", "all"), ("damaged", "damaged"), ("missing", "missing"), ("unchecked", "not checked yet"),
    ("unnamed", "named by no attempt"),
]  # fmt: skip
_BAD = (StoredFile.State.DAMAGED, StoredFile.State.MISSING)


class StateForm(forms.Form):
    """Which files to list."""

    state = forms.ChoiceField(choices=_CHOICES, label="Which files", required=False)

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        expected = ", ".join(key for key, _ in _CHOICES if key)
        message = f"state is “%(value)s”, expected one of: {expected}"
        self.fields["state"].error_messages["invalid_choice"] = message


@dataclass(frozen=True)
class Row:
    """One stored file, and the attempts that name it: how many, and the first by name."""

    blob: EvidenceBlob
    attempts: int
    first: str


def evidence(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    form = StateForm(request.GET)
    chosen = form.cleaned_data["state"] if form.is_valid() else ""
    rows = _files(study, chosen) if form.is_valid() else EvidenceBlob.objects.none()
    page = page_of(request, rows, ROWS_PER_PAGE)
    used, found = usage(study), standing(study.pk)
    response = study_page(
        request, study, "evidence", form=form, page_of_rows=page, rows=_named(study, list(page)), used=used,
        found=found, sentence=_sentence(used, found), grace_hours=settings.EVIDENCE_GRACE_HOURS,
        chosen=chosen, query=f"state={chosen}" if chosen else "",
    )  # fmt: skip
    response.status_code = 200 if form.is_valid() else 400
    return response


@never_cache
def health(request: HttpRequest) -> JsonResponse:
    """For a monitor, open to all: numbers only. ``manage.py verify_evidence`` names the files."""
    try:
        found = standing()
    except DatabaseError:
        _log.exception("the database does not answer")
        return JsonResponse({"status": "not ready", "database": "does not answer"}, status=503)
    answer = {"status": "passed" if found.passed else "failed", **asdict(found)}
    return JsonResponse(answer, status=200 if found.passed else 503)


def _files(study: Study, state: str) -> QuerySet[EvidenceBlob]:
    known = StoredFile.objects.filter(sha256=OuterRef("sha256"))
    rows = EvidenceBlob.objects.filter(study=study).annotate(
        known_state=Subquery(known.values("state")[:1]),
        checked_at=Subquery(known.values("checked_at")[:1]),
        bad=Exists(known.filter(state__in=_BAD)),
    )
    if state in _BAD:
        rows = rows.filter(known_state=state)
    elif state == "unchecked":
        rows = rows.filter(Q(checked_at=None))
    elif state == "unnamed":
        same = EvidenceFile.objects.filter(study=study, sha256=OuterRef("sha256"))
        rows = rows.filter(~Exists(same))
    return rows.order_by("-bad", "pk")


def _named(study: Study, blobs: list[EvidenceBlob]) -> list[Row]:
    files = EvidenceFile.objects.filter(study=study, sha256__in=[blob.sha256 for blob in blobs]).order_by()
    names = {
        sha256: (number, first)
        for sha256, number, first in files.values_list("sha256").annotate(
            Count("attempt", distinct=True), Min("attempt__invocation_id")
        )
    }
    return [Row(blob, *names.get(blob.sha256, (0, ""))) for blob in blobs]


def _sentence(used: Usage, found: Standing) -> str:
    if not used.files:
        return "No file of evidence is stored for this study."
    limit = f" of {_size(used.limit_bytes)} that it may have" if used.limit_bytes is not None else ""
    parts = [
        f"{number} {word}"
        for number, word in (
            (found.damaged, "damaged"), (found.missing, "missing"), (found.unchecked, "not checked yet"),
        )
        if number
    ]  # fmt: skip
    state = listed(parts) if parts else "each was what was sent when it was last checked"
    return sentence(f"{counted(used.files, 'file')} of evidence, {_size(used.total_bytes)}{limit}: {state}.")


def _size(size_bytes: int) -> str:
    return f"{size_bytes:,} bytes" if size_bytes < 2**20 else f"{size_bytes / 2**20:,.1f} MiB"
