"""What people stated about an issue, and what was later said about those statements."""

from __future__ import annotations

from django.db import models

from admission.models.base import IssueRecord


class StatusUpdate(IssueRecord):
    """One dated statement of where the issue stands, or the report that opened it.

    A later export may give the same statement in other words: that is a new row which ``revises`` this one.
    Which update is current, and what it superseded, is derived in ``admission.services.standing``.
    """

    class Kind(models.TextChoices):
        UPDATE = "update", "status update"
        REPORT = "report", "original report"

    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.UPDATE)
    heading = models.TextField(blank=True, help_text="The line that opens it")
    claim = models.TextField(help_text="What it claims in short, for example 'unresolved'")
    body = models.TextField(blank=True)
    account = models.TextField(blank=True)
    signed_name = models.TextField(blank=True)
    supersedes_words = models.TextField(
        blank=True, help_text="The line under it that says what becomes of the statements below"
    )
    text_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the text without its spacing")
    revises = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="revisions"
    )


class Correction(IssueRecord):
    """Something said later about a recorded statement, which stays as it was."""

    class Kind(models.TextChoices):
        CORRECTION = "correction", "corrected"
        WITHDRAWAL = "withdrawal", "withdrawn"
        SUPERSEDED = "superseded", "superseded"

    kind = models.CharField(max_length=12, choices=Kind.choices)
    target = models.CharField(max_length=120, help_text="Key of the statement or record")
    text = models.TextField()
    signed_name = models.TextField(blank=True)


class LaterFact(IssueRecord):
    """One field of a recorded row, in what was first stated later than the row itself.

    The row keeps what its own statement said; from the fact's time on, ``field`` reads ``value``.
    """

    FIELDS = {
        "witness": (
            "title", "model_name", "hardware", "packed_tokens", "logical_tokens", "policy_revision",
            "required_bytes", "required_words", "usable_bytes", "usable_words", "failed_request_bytes",
            "failed_request_words", "free_bytes", "free_words", "allocated_bytes", "allocated_words",
            "excess_bytes", "excess_words", "note",
        ),
        "change": ("title", "scope"),
    }  # fmt: skip
    """What can be stated later, by the kind of row. Decision and outcome can't: another row decides those."""

    target = models.CharField(max_length=120, help_text="Key of the row")
    field = models.CharField(max_length=40, help_text="Its field")
    value = models.JSONField(help_text="What the field reads from then on")


class OpenQuestion(IssueRecord):
    """Something unproved. Whether it still is, is what the latest mention says."""

    text = models.TextField()


class QuestionMention(IssueRecord):
    """An update that said so again, or that answered it."""

    class Says(models.TextChoices):
        OPEN = "open", "still open"
        ANSWERED = "answered", "answered"

    question = models.ForeignKey(OpenQuestion, on_delete=models.PROTECT, related_name="mentions")
    says = models.CharField(max_length=10, choices=Says.choices)
    note = models.TextField(blank=True)


class RelatedIssue(IssueRecord):
    """Another issue or change, and why it is separate from this one."""

    repository = models.TextField()
    number = models.PositiveIntegerField()
    title = models.TextField()
    why_separate = models.TextField()
