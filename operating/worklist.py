"""What somebody should see to before it hurts: keys that end, and evidence that is not whole any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count
from django.urls import reverse

from rlvram_site.access import is_staff
from rlvram_site.api.keys import ApiKey, ending_keys
from rlvram_site.waiting import Task
from studies.models import EvidenceBlob, StoredFile, Study

LISTED = 50


def waiting(user: Any) -> Iterable[Task]:
    """The same for the first page, for staff alone."""
    return tasks() if is_staff(user) else []


def tasks() -> list[Task]:
    """All of it; evidence first, because what is lost may still be somewhere."""
    return [*damaged_evidence(), *(_key_task(key) for key in ending_keys()[:LISTED])]


def _key_task(key: ApiKey) -> Task:
    return Task(
        f"{key.end_sentence()} It is {key.owner.get_username()}'s.",
        reverse("admin:ledger_apikey_change", args=[key.pk]),
    )


def damaged_evidence() -> list[Task]:
    """Studies whose recorded evidence was found damaged or missing when it was last checked."""
    lost = StoredFile.objects.filter(state__in=[StoredFile.State.DAMAGED, StoredFile.State.MISSING])
    rows = (
        EvidenceBlob.objects.filter(sha256__in=lost.values("sha256"))
        .order_by()
        .values("study")
        .annotate(number=Count("pk"))[:LISTED]
    )
    slugs = dict(Study.objects.filter(pk__in=[row["study"] for row in rows]).values_list("pk", "slug"))
    return [
        Task(
            _lost_sentence(slugs[row["study"]], row["number"]),
            reverse("evidence", args=[slugs[row["study"]]]),
        )
        for row in rows
    ]


def _lost_sentence(slug: str, number: int) -> str:
    files, are = ("file", "is") if number == 1 else ("files", "are")
    return (
        f"{number} {files} of the evidence of {slug} {are} damaged or missing: send the same bytes again, or "
        "bring them back from a backup."
    )
