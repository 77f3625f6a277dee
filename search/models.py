"""Rows that follow the ledger so that records are found by their words."""

from __future__ import annotations

from django.db import models

from rlvram_site.ledger.models import LedgerStream

LONGEST_LABEL = 300


class SearchDocument(models.Model):
    """One record as it is found. ``haystack`` and ``label_key`` are lower case; the rest is shown."""

    stream = models.ForeignKey(LedgerStream, on_delete=models.CASCADE, related_name="+")
    record_type = models.CharField(max_length=100)
    record_id = models.BigIntegerField()
    kind = models.CharField(max_length=30, db_index=True)
    label = models.CharField(max_length=LONGEST_LABEL)
    label_key = models.CharField(max_length=LONGEST_LABEL)
    place = models.CharField(max_length=300, help_text="What it belongs to, for a person")
    words = models.TextField(blank=True)
    haystack = models.TextField()
    address = models.TextField()
    recorded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["record_type", "record_id"], name="search_document_once")
        ]
        indexes = [models.Index(fields=["label_key"], name="search_by_label")]

    def __str__(self) -> str:
        return self.label


class SearchPosition(models.Model):
    """How far into a stream the documents reach: the sequence number of the last link that was read."""

    stream = models.OneToOneField(LedgerStream, on_delete=models.CASCADE, related_name="search_position")
    sequence = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.stream} #{self.sequence}"
