"""What an invocation left behind: stored bytes, and the files of an attempt by name and hash."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from rlvram_site.ledger.models import AppendOnlyQuerySet
from studies.models.base import Sha256Field, StudyRecord
from studies.models.outcomes import Attempt
from studies.models.stored import StoredFile


class EvidenceBlob(StudyRecord):
    """Bytes that were uploaded for a study, once however often they came. They lie beside the database."""

    sha256 = Sha256Field(help_text="sha256 of the bytes as they were on the uploader's disk")
    size_bytes = models.BigIntegerField()

    class Meta:
        ordering = ["study", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "sha256"], name="evidence_once_per_study")]

    def __str__(self) -> str:
        return f"{self.sha256[:12]}… ({self.size_bytes} bytes)"


class EvidenceFiles(AppendOnlyQuerySet["EvidenceFile"]):
    """Files of attempts."""

    def with_bytes_recorded(self) -> EvidenceFiles:
        """Each with ``bytes_recorded``: whether the study has recorded the bytes of its hash, whenever; and
        with ``known_state`` and ``known_stamp``: how the stored file was found last, null if never."""
        same = EvidenceBlob.objects.filter(study=models.OuterRef("study"), sha256=models.OuterRef("sha256"))
        known = StoredFile.objects.filter(sha256=models.OuterRef("sha256"))
        return self.annotate(
            bytes_recorded=models.Exists(same),
            known_state=models.Subquery(known.values("state")[:1]),
            known_stamp=models.Subquery(known.values("stamp")[:1]),
        )


class EvidenceFile(StudyRecord):
    """One file of an attempt. Without a ``blob`` only its hash was given then: it stayed private.

    Its bytes may come later under the same hash; ``services.outcomes.evidence_checks`` says whether they did.
    ``late`` files came after the attempt was recorded; its outcome does not rest on them.
    """

    objects: ClassVar[EvidenceFiles] = EvidenceFiles.as_manager()  # type: ignore[assignment]

    class Kind(models.TextChoices):
        LOG = "log", "log"
        SAMPLES = "samples", "sampled memory"
        SCHEDULER = "scheduler", "scheduler records"
        DEVICES = "devices", "device map"
        TRIAL = "trial", "launcher's record"
        OTHER = "other", "other"

    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="files")
    blob = models.ForeignKey(
        EvidenceBlob, null=True, blank=True, on_delete=models.PROTECT, related_name="files"
    )
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    sha256 = Sha256Field()
    size_bytes = models.BigIntegerField(null=True)
    late = models.BooleanField(default=False)

    class Meta:
        ordering = ["attempt", "pk"]
        constraints = [models.UniqueConstraint(fields=["attempt", "name"], name="evidence_name_once")]

    def __str__(self) -> str:
        return f"{self.attempt}: {self.name}"
