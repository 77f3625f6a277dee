"""The documents behind the records: what names them, which hash it gives, and whether the bytes agreed."""

from __future__ import annotations

from django.db import models

from studies.models.base import Sha256Field, StudyRecord


class SourceFile(StudyRecord):
    """One file that a protocol, amendment, seal or manifest names by hash, as found at import."""

    class State(models.TextChoices):
        VERIFIED = "verified", "present, hash agrees"
        ABSENT = "absent", "named, not in the archive"
        SUPERSEDED = "superseded", "replaced by a later document's hash"

    declared_in = models.CharField(max_length=300, help_text="The document that names it")
    path = models.CharField(max_length=300)
    sha256 = Sha256Field()
    state = models.CharField(max_length=20, choices=State.choices)
    size_bytes = models.BigIntegerField(null=True)

    class Meta:
        ordering = ["study", "declared_in", "path"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "declared_in", "path"], name="source_file_once_per_document"
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} ({self.state})"
