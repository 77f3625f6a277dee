"""Work that a worker does: the job, what happened to it, and what it produced.

A job's row is the truth about it and changes as the job goes on; a message only carries its id. What
happened to it (``JobEvent``) and what it produced (``JobResult``) is written once.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.urls import reverse
from django.utils import timezone

from rlvram_site.ledger.models import AppendOnlyModel
from studies.models.base import Sha256Field
from studies.models.plan import Study


class Job(models.Model):
    """One piece of work. Only ``studies.jobs.claims`` changes a row, by compare and swap."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "running"
        SUCCEEDED = "succeeded", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    kind = models.CharField(max_length=40)
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.PROTECT, related_name="jobs")
    parameters = models.JSONField(default=dict)
    afresh = models.BooleanField(default=False, help_text="Compute even if the same inputs have a result")
    queue = models.CharField(max_length=120)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    rerun_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="reruns"
    )
    # Who holds it. The fence grows with every claim and every release, so that an old holder's writes miss.
    fence = models.PositiveBigIntegerField(default=0)
    claims = models.PositiveIntegerField(default=0, help_text="Claims since it was queued or retried")
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(null=True, help_text="When its id was last given to the broker")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested = models.BooleanField(default=False)
    # How far it is.
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    sentence = models.CharField(max_length=300, blank=True)
    log = models.TextField(blank=True, help_text="Last lines of what it said")
    # How it ended.
    environment = models.JSONField(default=dict, help_text="Library versions, threads, platform")
    input_sha256 = Sha256Field(blank=True, help_text="Digest of everything its result depends on")
    earlier = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="found_by",
        help_text="The job whose result this one found, because its inputs were the same",
    )  # fmt: skip
    error = models.TextField(blank=True, help_text="Why it failed, for a person")

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["state", "lease_until"], name="jobs_by_lease"),
            models.Index(fields=["kind", "input_sha256"], name="jobs_by_input"),
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("job", args=[self.pk])

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.state not in (self.State.QUEUED, self.State.RUNNING)

    @property
    def lapsed(self) -> bool:
        """Running by its row, while the worker has not been heard of until the end of its lease."""
        return (
            self.state == self.State.RUNNING
            and self.lease_until is not None
            and self.lease_until < timezone.now()
        )

    @property
    def result(self) -> JobResult | None:
        """What it produced, or what the earlier job produced whose result it found."""
        owner = self.earlier if self.earlier_id and self.earlier is not None else self
        return JobResult.objects.filter(job=owner).first()


class JobEvent(AppendOnlyModel):
    """Something that happened to a job, and by whom."""

    class What(models.TextChoices):
        QUEUED = "queued", "queued"
        CLAIMED = "claimed", "taken by a worker"
        FOUND = "found", "earlier result found"
        SUCCEEDED = "succeeded", "done"
        FAILED = "failed", "failed"
        CANCEL_REQUESTED = "cancel_requested", "cancel requested"
        CANCELLED = "cancelled", "cancelled"
        LOST = "lost", "worker lost"
        RETRIED = "retried", "retried"
        UNSENT = "unsent", "not handed over"

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="events")
    what = models.CharField(max_length=20, choices=What.choices)
    text = models.CharField(max_length=500, blank=True)
    actor = models.CharField(max_length=200)
    fence = models.PositiveBigIntegerField()
    recorded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["job", "pk"]

    def __str__(self) -> str:
        return f"{self.job}: {self.what}"


class JobResult(AppendOnlyModel):
    """What a job produced: a document, and links to what it recorded. One for a job, ever."""

    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="outcome")
    sentence = models.CharField(max_length=500)
    links = models.JSONField(default=list, help_text='Recorded objects: [{"label": …, "address": …}]')
    document = models.JSONField(default=dict)
    sha256 = Sha256Field(help_text="sha256 of the document's canonical JSON")
    recorded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"result of {self.job}"

    def as_json(self) -> dict[str, Any]:
        """Everything, for the API and for downloads."""
        return {
            "job": self.job_id,
            "sentence": self.sentence,
            "links": self.links,
            "sha256": self.sha256,
            "document": self.document,
        }
