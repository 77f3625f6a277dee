"""What waits for somebody in the studies, and what their records contradict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, F, Q
from django.urls import reverse

from rlvram_site.access import is_staff
from rlvram_site.waiting import LISTED, Task
from studies.models import Attempt, Job, Study
from studies.services.plan.study_drafts import visible_to
from studies.services.predictions.seals import seal_state


def waiting(user: Any) -> Iterator[Task]:
    """Drafts that somebody has begun; for staff also what only they can see to."""
    for draft in visible_to(user).filter(study=None).order_by("-pk")[:LISTED]:
        yield Task(f"The draft “{draft}” is not recorded yet.", reverse("study-draft", args=[draft.pk]))
    if not is_staff(user):
        return
    yield from _unsealed()
    yield from _per_study(
        Q(derivation__disagrees=True), "has {n} whose uploader says another diagnosis than the evidence", ""
    )
    yield from _per_study(Q(slot=None), "has {n} that belong{s} to no planned slot", "#unplanned")
    failed = Job.objects.filter(state=Job.State.FAILED, reruns=None).order_by("-pk")
    for job in failed.select_related("study")[:LISTED]:
        about = f" of {job.study.title}" if job.study else ""
        yield Task(
            f"The job {job.pk}, {job.kind.replace('_', ' ')}{about}, failed and was not run again.",
            reverse("job", args=[job.pk]),
        )


def _unsealed() -> Iterator[Task]:
    """Studies whose protocol is frozen and whose predictions are not sealed while nothing was launched."""
    rows = Study.objects.filter(
        protocols__isnull=False, seals=None, attempts=None, nonlaunchs=None, parent=None
    )
    for study in rows.distinct().order_by("pk")[:LISTED]:
        yield Task(f"{study.title} is frozen, and its predictions are not sealed.", study.get_absolute_url())


def _per_study(which: Q, words: str, place: str) -> Iterator[Task]:
    rows = (
        Attempt.objects.filter(which, superseded_by__isnull=True)
        .order_by()
        .values("study__slug", "study__title")
        .annotate(number=Count("pk"))
        .order_by("study__slug")[:LISTED]
    )
    for row in rows:
        number = row["number"]
        attempts = f"{number} attempt{'' if number == 1 else 's'}"
        sentence = words.format(n=attempts, s="s" if number == 1 else "")
        yield Task(
            f"{row['study__title']} {sentence}.", reverse("outcomes", args=[row["study__slug"]]) + place
        )


def contradicted(user: Any) -> Iterator[Task]:
    """Studies in which an attempt ran before the seal by its own clock, though it was recorded after it."""
    sealed = F("study__seals__sealed_at")
    early = Attempt.objects.filter(Q(started_at__lt=sealed) | Q(ended_at__lt=sealed))
    for study in Study.objects.filter(pk__in=early.order_by().values("study")).order_by("pk")[:LISTED]:
        if sentence := seal_state(study).contradiction:
            yield Task(f"{study.title}: {sentence}.", reverse("history", args=[study.slug]))
