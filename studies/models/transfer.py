"""The transfer suite of a pool, and the predictions that were submitted to it."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from rlvram_site.ledger.models import LedgerRecord
from studies.models.base import Sha256Field
from studies.models.plan import Configuration, Pool
from studies.transfer.suite import ALL_TRACKS, Track

TRACK_WORDS = {
    Track.MODEL: "another model",
    Track.WORKLOAD: "another workload",
    Track.GPU_COUNT: "another GPU count",
    Track.HORIZON: "a longer horizon",
}
TRACKS = [(track.value, words) for track, words in TRACK_WORDS.items()]
SELECTIONS = [*TRACKS, (ALL_TRACKS, "all tracks")]
OVERALL = "overall"


class TransferTask(LedgerRecord):
    """Queries that may be answered from the measurements of one donor case."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="transfer_tasks")
    task_id = models.CharField(max_length=150)
    track = models.CharField(max_length=30, choices=TRACKS)
    source_case_id = models.CharField(max_length=150, help_text="The donor case")

    class Meta:
        ordering = ["pool", "task_id"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "task_id"], name="transfer_task_once_per_pool")
        ]

    def __str__(self) -> str:
        return self.task_id

    def ledger_stream(self) -> str:
        return self.pool.stream


class TransferQuery(LedgerRecord):
    """Asks for the label of ``target``; ``source`` is the donor configuration that matches it."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="transfer_queries")
    task = models.ForeignKey(TransferTask, on_delete=models.PROTECT, related_name="queries")
    query_id = models.CharField(max_length=150)
    source = models.ForeignKey(Configuration, on_delete=models.PROTECT, related_name="transfer_uses")
    target = models.ForeignKey(Configuration, on_delete=models.PROTECT, related_name="transfer_queries")

    class Meta:
        ordering = ["pool", "query_id"]
        verbose_name_plural = "transfer queries"
        constraints = [
            models.UniqueConstraint(fields=["pool", "query_id"], name="transfer_query_once_per_pool")
        ]

    def __str__(self) -> str:
        return self.query_id

    def ledger_stream(self) -> str:
        return self.pool.stream


class TransferSubmission(LedgerRecord):
    """Predictions for every query of one track, or of all, under a name and a version.

    It has a stream of its own beside the pool's, so that many submissions never slow down who reads the pool.
    """

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="transfer_submissions")
    selected_track = models.CharField(max_length=30, choices=SELECTIONS)
    name = models.CharField(max_length=100)
    version = models.CharField(max_length=50)
    declaration = models.TextField(
        max_length=2000, help_text="Extra measurements used beside the task's own inputs; “none” says so"
    )
    author = models.CharField(max_length=200)
    content_sha256 = Sha256Field(
        unique=True, help_text="Digest of everything above but the author, and predictions"
    )

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "selected_track", "name", "version"],
                name="transfer_submission_once_per_version",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def get_absolute_url(self) -> str:
        return reverse("transfer-submission", args=[self.pool.slug, self.content_sha256])

    def ledger_stream(self) -> str:
        return f"transfer/{self.pool.slug}"


class TransferPredictions(LedgerRecord):
    """What a submission predicts. A table of its own, so that lists of submissions never read it."""

    submission = models.OneToOneField(
        TransferSubmission, on_delete=models.PROTECT, related_name="predictions"
    )
    labels = models.JSONField(help_text="Predicted label by query id")

    class Meta:
        verbose_name_plural = "transfer predictions"

    def __str__(self) -> str:
        return f"{self.submission}: {len(self.labels)} predictions"

    def ledger_stream(self) -> str:
        return self.submission.ledger_stream()


class TransferScore(LedgerRecord):
    """Scores of a submission in one scope. ``overall`` describes the whole; nothing is ranked by it."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="transfer_scores")
    submission = models.ForeignKey(TransferSubmission, on_delete=models.PROTECT, related_name="scores")
    scope = models.CharField(max_length=30, choices=[*TRACKS, (OVERALL, "overall")])
    queries = models.PositiveIntegerField()
    correct_three_state = models.PositiveIntegerField()
    approved = models.PositiveIntegerField()
    approved_within_margin = models.PositiveIntegerField()
    approved_memory_failure = models.PositiveIntegerField()
    approved_above_margin = models.PositiveIntegerField()
    rejected_within_margin = models.PositiveIntegerField()
    document = models.JSONField(help_text="All scores of the scope under the study's key names, task by task")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["pool", "scope", "-id"], name="transfer_score_by_track")]
        constraints = [
            models.UniqueConstraint(fields=["submission", "scope"], name="transfer_score_once_per_scope")
        ]

    def __str__(self) -> str:
        return f"{self.submission}: {self.scope}"

    def ledger_stream(self) -> str:
        return f"transfer/{self.pool.slug}"
