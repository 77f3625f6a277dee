"""Fields that several recorded tables share."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

from rlvram_site.ledger.models import LedgerRecord

sha256_validator = RegexValidator(r"^[0-9a-f]{64}$", "expected 64 lower-case hexadecimal digits")
name_validator = RegexValidator(
    r"^[A-Za-z0-9][A-Za-z0-9._:@+-]*\Z",
    "expected letters, digits and . _ : @ + - with a letter or digit first",
)


class Sha256Field(models.CharField):
    """A sha256 as 64 lower-case hex digits."""

    def __init__(self, *args, **kwargs) -> None:
        kwargs["max_length"] = 64
        kwargs.setdefault("validators", [sha256_validator])
        super().__init__(*args, **kwargs)

    def deconstruct(self):
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("max_length", None)
        kwargs.pop("validators", None)
        return name, path, args, kwargs


class StudyRecord(LedgerRecord):
    """A recorded row of one study; its stream is the study's."""

    study = models.ForeignKey("studies.Study", on_delete=models.PROTECT, related_name="%(class)ss")

    class Meta:
        abstract = True

    def ledger_stream(self) -> str:
        return self.study.stream


class Label(models.TextChoices):
    """A configuration's label. There is no fourth: an unresolved configuration has none."""

    WITHIN_MARGIN = "within_margin", "within margin"
    ABOVE_MARGIN = "above_margin", "above margin"
    MEMORY_FAILURE = "memory_failure", "memory failure"
