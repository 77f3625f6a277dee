"""The chain's own tables, and what a row must be to have a place in it."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from django.db import models
from django.utils import timezone

_Row = TypeVar("_Row", bound=models.Model, covariant=True)


class AppendOnlyError(Exception):
    """Something tried to change or delete a recorded row."""


def refuse(what: str) -> NoReturn:
    """Say that a recorded row stays as it is."""
    raise AppendOnlyError(
        f"{what}: recorded rows are never changed or deleted; record a new row that supersedes"
    )


class AppendOnlyQuerySet(models.QuerySet[_Row]):
    """Reads as usual; every way to change rows is refused before it reaches the database."""

    def update(self, **kwargs) -> NoReturn:
        refuse(f"update of {self.model._meta.verbose_name_plural}")

    def delete(self) -> NoReturn:
        refuse(f"delete of {self.model._meta.verbose_name_plural}")

    def bulk_update(self, *args, **kwargs) -> NoReturn:
        refuse(f"update of {self.model._meta.verbose_name_plural}")

    def bulk_create(self, *args, **kwargs) -> NoReturn:
        raise AppendOnlyError("use rlvram_site.ledger.chain.record_all, which also extends the chain")


class AppendOnlyModel(models.Model):
    """A table whose rows can be inserted and read, in Python and (by triggers) in the database."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args, **kwargs) -> None:
        if not self._state.adding:
            refuse(f"change of {self._meta.verbose_name} {self.pk}")
        # Insert or fail: Django would turn a row that carries an old key into an update.
        super().save(force_insert=True, using=kwargs.get("using"))

    def delete(self, *args, **kwargs) -> NoReturn:
        refuse(f"delete of {self._meta.verbose_name} {self.pk}")


class ChainedRow(AppendOnlyModel):
    """A row that is part of a stream's chain.

    Subclasses name their stream; every concrete field but the primary key goes into the row's digest.
    """

    recorded_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        abstract = True

    def ledger_stream(self) -> str:
        """The stream this row belongs to, for example ``study/estimation``."""
        raise NotImplementedError(f"{type(self).__name__} does not name its ledger stream")

    def ledger_payload(self) -> dict[str, Any]:
        """What the digest covers: each concrete field's stored value by its column name, nulls left out.

        Without the nulls, a column that is added later (and is null in every earlier row) leaves the
        digests of those rows as they were; a value that appears, changes or disappears still shows.
        """
        return {
            field.attname: value
            for field in self._meta.concrete_fields
            if not field.primary_key and (value := getattr(self, field.attname)) is not None
        }


class LedgerStream(models.Model):
    """A stream's name; its row is what writers lock so that sequence numbers have no gap and no fork."""

    name = models.CharField(max_length=200, unique=True)

    def __str__(self) -> str:
        return self.name


class LedgerEntry(AppendOnlyModel):
    """One link of a chain: which row was recorded, its digest, and the digest of the link before."""

    stream = models.ForeignKey(LedgerStream, on_delete=models.PROTECT, related_name="entries")
    sequence = models.PositiveBigIntegerField()
    record_type = models.CharField(max_length=100)
    record_id = models.BigIntegerField()
    payload_sha256 = models.CharField(max_length=64)
    previous_sha256 = models.CharField(max_length=64, blank=True)
    sha256 = models.CharField(max_length=64, unique=True)
    actor = models.CharField(max_length=200)
    recorded_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["stream", "sequence"]
        constraints = [
            models.UniqueConstraint(fields=["stream", "sequence"], name="ledger_one_entry_per_sequence"),
            models.UniqueConstraint(fields=["record_type", "record_id"], name="ledger_one_entry_per_record"),
        ]
        indexes = [models.Index(fields=["stream", "record_type", "sequence"], name="ledger_kind_in_order")]
        verbose_name_plural = "ledger entries"

    def __str__(self) -> str:
        return f"{self.stream} #{self.sequence}"

    def save(self, *args, **kwargs) -> NoReturn:
        refuse("a ledger entry is only written by rlvram_site.ledger.chain")
