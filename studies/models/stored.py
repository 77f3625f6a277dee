"""What is remembered of stored evidence. No records: all of it can be made anew, or ends with its purpose."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models

from studies.models.base import Sha256Field
from studies.models.plan import Study


class StoredFile(models.Model):
    """The stored file of one sha256, whichever studies have it: how it was found when it was last read."""

    class State(models.TextChoices):
        ARRIVING = "arriving", "arriving"
        WHOLE = "whole", "whole"
        DAMAGED = "damaged", "damaged"
        MISSING = "missing", "missing"

    sha256 = Sha256Field(unique=True)
    state = models.CharField(max_length=10, choices=State.choices)
    stamp = models.CharField(
        max_length=200, blank=True, help_text="What the file looked like from outside then"
    )
    sent_at = models.DateTimeField(null=True, help_text="When somebody last sent these bytes")
    checked_at = models.DateTimeField(null=True, db_index=True, help_text="When its hash was last made anew")

    class Meta:
        ordering = ["sha256"]

    def __str__(self) -> str:
        return f"{self.sha256[:12]}… {self.get_state_display()}"


class PendingEvidence(models.Model):
    """Bytes that were sent for a study and that no attempt of it names yet."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="pending_evidence")
    sha256 = Sha256Field()
    size_bytes = models.BigIntegerField()
    sent_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["study", "pk"]
        verbose_name_plural = "pending evidence"
        constraints = [models.UniqueConstraint(fields=["study", "sha256"], name="pending_once_per_study")]

    def __str__(self) -> str:
        return f"{self.sha256[:12]}… ({self.size_bytes} bytes)"


class EvidenceQuota(models.Model):
    """A study's own limit for evidence, in place of ``EVIDENCE_STUDY_QUOTA_MIB``."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="evidence_quota")
    limit_mib = models.PositiveBigIntegerField(
        "limit (MiB)", validators=[MinValueValidator(1)],
        help_text="Bytes of evidence that the study may have, as they were sent, in MiB",
    )  # fmt: skip

    class Meta:
        ordering = ["study"]

    def __str__(self) -> str:
        return f"{self.study}: {self.limit_mib} MiB"
