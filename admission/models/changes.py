"""Pull requests and local candidates, head by head, and the reviews of exact heads."""

from __future__ import annotations

from django.db import models

from admission.models.base import IssueRecord, hash_validator


class Change(IssueRecord):
    """A pull request, or a candidate that never became one (no number)."""

    repository = models.TextField(blank=True, help_text="OWNER/NAME; empty: the issue's own repository")
    number = models.PositiveIntegerField(null=True, blank=True)
    title = models.TextField()
    scope = models.TextField(blank=True, help_text="What it addresses, and what it does not")

    @property
    def label(self) -> str:
        if self.number is None:
            return self.title
        return f"{self.repository}#{self.number}" if self.repository else f"#{self.number}"


class ChangeHead(IssueRecord):
    """The state of a change at one head, as one statement gave it.

    The same head may be stated again in another state. Held and green checks are different facts: one says
    what people decided, the other what machines found.
    """

    class State(models.TextChoices):
        LOCAL = "local", "local"
        DRAFT = "draft", "draft"
        OPEN = "open", "open"
        HELD = "held", "held"
        MERGED = "merged", "merged"
        CLOSED = "closed", "closed"
        UNSTATED = "unstated", "not stated"

    class Checks(models.TextChoices):
        GREEN = "green", "green"
        FAILED = "failed", "failed"
        RUNNING = "running", "running"
        NOT_QUALIFIED = "not_qualified", "did not run to a result"
        UNSTATED = "unstated", "not stated"

    change = models.ForeignKey(Change, on_delete=models.PROTECT, related_name="heads")
    sha = models.CharField(
        max_length=64, blank=True, validators=[hash_validator],
        help_text="Whole or abbreviated; empty when the statement gives no head",
    )  # fmt: skip
    state = models.CharField(max_length=10, choices=State.choices)
    checks = models.CharField(max_length=15, choices=Checks.choices, default=Checks.UNSTATED)
    merged_sha = models.CharField(max_length=64, blank=True, validators=[hash_validator])
    note = models.TextField(blank=True)


class Review(IssueRecord):
    """A verdict on one exact head. A later head needs its own, or a review that carries this one over."""

    class Verdict(models.TextChoices):
        CLEAR = "clear", "clear"
        CHANGES_REQUIRED = "changes_required", "changes required"
        WITHDRAWN = "withdrawn", "withdrawn"
        INCONCLUSIVE = "inconclusive", "inconclusive"

    SEVERITIES = ("P1", "P2", "P3", "note")

    change = models.ForeignKey(Change, on_delete=models.PROTECT, related_name="reviews")
    head_sha = models.CharField(max_length=64, validators=[hash_validator])
    base_sha = models.CharField(max_length=64, blank=True, validators=[hash_validator])
    reviewer = models.TextField()
    account = models.TextField(blank=True)
    verdict = models.CharField(max_length=20, choices=Verdict.choices)
    findings = models.JSONField(default=list, blank=True, help_text='[{"severity": "P2", "text": "…"}, …]')
    note = models.TextField(blank=True)
    carried_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="carried_to"
    )
    carry_reason = models.TextField(blank=True)
    withdraws = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="withdrawals"
    )
