"""The tables of the ledger: a base class for what is recorded, the chain's own, and the daily checks."""

from __future__ import annotations

from django.db import models

from rlvram_site.ledger.chain import record
from rlvram_site.ledger.links import (
    AppendOnlyError,
    AppendOnlyModel,
    AppendOnlyQuerySet,
    ChainedRow,
    LedgerEntry,
    LedgerStream,
    refuse,
)

__all__ = [
    "AppendOnlyError",
    "AppendOnlyModel",
    "AppendOnlyQuerySet",
    "LedgerCheck",
    "LedgerEntry",
    "LedgerRecord",
    "LedgerStream",
]


class LedgerRecord(ChainedRow):
    """A recorded row: saving one for the first time also extends the chain of its stream."""

    class Meta:
        abstract = True

    def save(self, *args, **kwargs) -> None:
        if not self._state.adding:
            refuse(f"change of {self._meta.verbose_name} {self.pk}")
        record(self)


class LedgerCheck(models.Model):
    """What one walk over the whole ledger found. Not a record itself: it only remembers."""

    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    streams = models.PositiveIntegerField()
    links = models.PositiveBigIntegerField()
    problems = models.JSONField(default=list)
    heads = models.JSONField(default=dict, help_text="Number of links and last digest by stream")

    class Meta:
        get_latest_by = "pk"

    def __str__(self) -> str:
        return f"{self.finished_at:%Y-%m-%d %H:%M:%S} UTC: {'passed' if self.passed else 'failed'}"

    @property
    def passed(self) -> bool:
        return not self.problems
