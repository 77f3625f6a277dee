"""What every record of an issue has: its issue, a name to point at, and when and where it was said."""

from __future__ import annotations

import datetime as dt

from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse

from admission.dates import Precision, StatedTime
from rlvram_site.ledger.models import LedgerRecord

key_validator = RegexValidator(
    r"^[a-z0-9][a-z0-9._-]{0,118}$", "expected lower-case letters, digits, '.', '_' and '-'"
)
hash_validator = RegexValidator(r"^[0-9a-f]{6,64}$", "expected 6 to 64 lower-case hexadecimal digits")


class Origin(models.TextChoices):
    """How a record came here."""

    THREAD = "thread", "imported thread"
    RECORD = "record", "imported record"
    STAFF = "staff", "entered by staff"
    UPLOAD = "upload", "uploaded"


# How far the middle of a stated time may lie after the moment at which it was seen, before it is the
# future's.
# A day begins 12 hours before its noon, and in some zone 14 hours before it does in UTC; clocks differ a
# little.
_AHEAD = {
    Precision.DAY: dt.timedelta(hours=26),
    Precision.PART_OF_DAY: dt.timedelta(hours=4),
    Precision.MINUTE: dt.timedelta(hours=1),
    Precision.INSTANT: dt.timedelta(hours=1),
    Precision.UNKNOWN: dt.timedelta(hours=12),
}


class IssueRecord(LedgerRecord):
    """A recorded row of one issue; its stream is the issue's.

    ``key`` names the row for good: other rows, exports and permalinks point at it. ``stated_in`` is the key
    of the statement that it was read from and ``sentence`` the sentence there, if it was.
    """

    issue = models.ForeignKey(
        "admission.TrackedIssue", on_delete=models.PROTECT, related_name="%(class)s_rows"
    )
    key = models.CharField(max_length=120, validators=[key_validator])
    origin = models.CharField(max_length=10, choices=Origin.choices)
    stated_words = models.TextField(blank=True, help_text="The time in the words that gave it")
    stated_precision = models.CharField(max_length=12, choices=[(p.value, p.value) for p in Precision])
    stated_day = models.DateField(help_text="The calendar day that the words name")
    sort_at = models.DateTimeField(help_text="Middle of the interval that the words allow")
    stated_in = models.CharField(max_length=120, blank=True, help_text="Key of the statement that says so")
    sentence = models.TextField(blank=True, help_text="The sentence there")
    seen_at = models.DateTimeField(
        null=True, blank=True,
        help_text="When these words are first known to have stood in their source; empty: when recorded",
    )  # fmt: skip

    class Meta:
        abstract = True
        ordering = ["sort_at", "id"]
        constraints = [models.UniqueConstraint(fields=["issue", "key"], name="%(class)s_key_once_per_issue")]
        indexes = [models.Index(fields=["issue", "sort_at"], name="%(class)s_by_time")]

    def __str__(self) -> str:
        return self.key

    def ledger_stream(self) -> str:
        return self.issue.stream

    def set_stated(self, stated: StatedTime) -> None:
        """Take the four columns from ``stated``."""
        self.stated_words = stated.words
        self.stated_precision = stated.precision.value
        self.stated_day = stated.day
        self.sort_at = stated.sort_at

    @property
    def known_at(self) -> dt.datetime:
        """When these words were first seen: in their source if that is known, else here."""
        return self.seen_at or self.recorded_at

    @property
    def dated_ahead(self) -> bool:
        """Whether the stated time was still to come when the words were seen. Such a row never holds."""
        return self.sort_at - _AHEAD[Precision(self.stated_precision)] > self.known_at

    def get_absolute_url(self) -> str:
        return reverse("admission-statement", args=[*self.issue.address, self.key])
