"""What lists of issues search, filter and sort by: derived, no evidence, made anew when an issue grew."""

from __future__ import annotations

from django.db import models

from admission.models.issues import TrackedIssue
from rlvram_site.ledger.models import LedgerStream


class IssueSummary(models.Model):
    """One line about an issue as its ledger stood at link ``sequence`` of ``stream``."""

    issue = models.OneToOneField(TrackedIssue, on_delete=models.PROTECT, related_name="summary")
    stream = models.ForeignKey(LedgerStream, on_delete=models.PROTECT, related_name="+")
    sequence = models.BigIntegerField()
    title = models.TextField()
    state = models.CharField(max_length=40, db_index=True)
    is_open = models.BooleanField(db_index=True)
    sentence = models.TextField()
    opened_on = models.DateField(null=True)
    last_said_at = models.DateTimeField(null=True, db_index=True)
    status_updates = models.PositiveIntegerField()
    open_questions = models.PositiveIntegerField()
    witnesses = models.PositiveIntegerField()
    scored = models.PositiveIntegerField()
    unsafe = models.PositiveIntegerField()
    without_verdict = models.PositiveIntegerField()

    class Meta:
        verbose_name_plural = "issue summaries"

    def __str__(self) -> str:
        return f"{self.issue}: {self.title}"
