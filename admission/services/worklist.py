"""What waits for staff in the tracked issues, and which decisions another run contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count
from django.urls import reverse

from admission.models import Proposal, TrackedIssue, Witness
from rlvram_site.access import is_staff
from rlvram_site.waiting import LISTED, Task


def waiting(user: Any) -> Iterator[Task]:
    """Proposals that nobody has decided, by issue."""
    if not is_staff(user):
        return
    rows = dict(
        Proposal.objects.filter(decision=None)
        .order_by()
        .values_list("issue")
        .annotate(number=Count("pk"))
        .order_by("-number", "issue")[:LISTED]
    )
    issues = TrackedIssue.objects.in_bulk(list(rows))
    for pk, number in rows.items():
        wait = "proposal waits" if number == 1 else "proposals wait"
        yield Task(
            f"{number} {wait} for a decision in {issues[pk]}.",
            reverse("admission-proposals", args=issues[pk].address),
        )


def contradicted(user: Any) -> Iterator[Task]:
    """Refusals beside which something larger ran: a flag, never a class."""
    rows = Witness.objects.filter(contradicted_by__isnull=False).select_related("issue", "contradicted_by")
    for row in rows.order_by("-sort_at", "-pk")[:LISTED]:
        other = row.contradicted_by
        if other is not None:
            sentence = f"{row.issue}: “{row.title}” is contradicted by “{other.title}”."
            yield Task(sentence, row.get_absolute_url())
