"""What imported text suggests recording. Nothing is recorded from it until a reviewer says so."""

from __future__ import annotations

from django.db import models

from admission.models.base import IssueRecord


class Proposal(IssueRecord):
    """Something found in a statement that could be recorded; ``stated_in`` and ``sentence`` say where."""

    class Kind(models.TextChoices):
        CHANGE = "change", "pull request"
        COMMIT = "commit", "commit"
        RECEIPT = "receipt", "receipt"
        SIZE = "size", "size"
        VERDICT = "verdict", "verdict"
        FAILURE = "failure", "failure"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    found = models.TextField(help_text="The text found")
    value = models.JSONField(blank=True, help_text="What it would record")


class ProposalDecision(IssueRecord):
    """What a reviewer made of a proposal. One each; accepted ones name the record that came of it."""

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted", "accepted"
        EDITED = "edited", "accepted with edits"
        REJECTED = "rejected", "rejected"

    proposal = models.OneToOneField(Proposal, on_delete=models.PROTECT, related_name="decision")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    made = models.CharField(max_length=120, blank=True, help_text="Key of the record made from it")
    note = models.TextField(blank=True)
