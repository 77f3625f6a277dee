"""What somebody tried to change in a study after the fact, and was refused."""

from __future__ import annotations

from django.db import models

from rlvram_site.ledger.models import LedgerRecord

STREAM = "refusals"


class Refusal(LedgerRecord):
    """One refused change. Who tried it stands in the ledger's link, as with every record.

    Refusals have a stream of their own: they are no part of the study, whose head they must not move.
    """

    class What(models.TextChoices):
        SEAL = "seal", "sealing predictions"
        PLAN = "plan", "changing the plan"
        OUTCOME = "outcome", "replacing an attempt"
        RECORD = "record", "editing or deleting a record in the admin"

    study = models.ForeignKey("studies.Study", on_delete=models.PROTECT, related_name="refusals")
    what = models.CharField(max_length=10, choices=What.choices)
    reason = models.CharField(max_length=500, help_text="What the site answered")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.get_what_display()} in {self.study}"

    def ledger_stream(self) -> str:
        return STREAM
