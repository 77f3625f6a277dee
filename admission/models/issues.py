"""The issue as its source gives it: identity, text versions, thread, events."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse

from admission.models.base import IssueRecord
from rlvram_site.ledger.models import LedgerRecord

PUBLIC_HOST = "github.com"
host_validator = RegexValidator(
    r"^[a-z0-9]([a-z0-9.-]{0,180}[a-z0-9])?(:[0-9]{1,5})?$", "expected the name of a host in lower case"
)


class TrackedIssue(LedgerRecord):
    """One issue of one repository. Its title, state and everything else is in the rows that point here."""

    host = models.CharField(
        max_length=200, null=True, blank=True, validators=[host_validator],
        help_text=f"Where the repository lives; empty: {PUBLIC_HOST}",
    )  # fmt: skip
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    number = models.PositiveIntegerField()
    url = models.URLField(max_length=400, blank=True)

    class Meta:
        ordering = ["owner", "name", "number", "host"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name", "number"], condition=models.Q(host=None), name="public_issue_once"
            ),
            models.UniqueConstraint(
                fields=["host", "owner", "name", "number"],
                condition=models.Q(host__isnull=False),
                name="issue_once_per_host",
            ),
        ]

    def __str__(self) -> str:
        named = f"{self.owner}/{self.name}#{self.number}"
        return f"{self.host}/{named}" if self.host else named

    @property
    def label(self) -> str:
        """How people name it."""
        return str(self)

    @property
    def forge(self) -> str:
        """The address of its forge, to which links lead."""
        return f"https://{self.host or PUBLIC_HOST}"

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def address(self) -> tuple[str | int, ...]:
        """Parts of its addresses here; a host of its own stands in front."""
        own = (self.owner, self.name, self.number)
        return (self.host, *own) if self.host else own

    @property
    def stream(self) -> str:
        return f"issue/{'/'.join(str(part) for part in self.address)}"

    def ledger_stream(self) -> str:
        return self.stream

    def get_absolute_url(self) -> str:
        return reverse("admission-issue", args=self.address)

    def rows(self, model: type[IssueRecord]) -> models.QuerySet[Any]:
        """Records of one kind; each of them knows this issue without asking the database."""
        return getattr(self, f"{model._meta.model_name}_rows").all()


class IssueAddress(IssueRecord):
    """An address under which a forge knows the issue. A transferred one has several, with one
    ``forge_id``."""

    host = models.CharField(max_length=200, validators=[host_validator])
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    number = models.PositiveIntegerField()
    url = models.TextField(blank=True)
    forge_id = models.CharField(max_length=40, blank=True, help_text="The forge's own id of the issue")

    class Meta(IssueRecord.Meta):
        indexes = [
            *IssueRecord.Meta.indexes,
            models.Index(fields=["host", "forge_id"], name="issueaddress_by_forge_id"),
        ]
        verbose_name_plural = "issue addresses"

    @property
    def label(self) -> str:
        named = f"{self.owner}/{self.name}#{self.number}"
        return named if self.host == PUBLIC_HOST else f"{self.host}/{named}"


class IssueVersion(IssueRecord):
    """Title and body as one export gave them; the stated time is the export's ``updated_at``.

    ``raw`` holds the rest of the exported object, so that object is ``raw`` plus title and body.
    """

    number = models.PositiveIntegerField(help_text="1 for the first version that was imported")
    title = models.TextField()
    body = models.TextField(blank=True)
    body_sha256 = models.CharField(max_length=64)
    raw = models.JSONField(blank=True)


class ThreadItem(IssueRecord):
    """A comment or an event of the thread. ``raw`` is the exported object without the body.

    An edited comment is a new row that ``revises`` the earlier one. Events of unknown kinds are kept too.
    """

    class Kind(models.TextChoices):
        COMMENT = "comment", "comment"
        EVENT = "event", "event"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    event = models.TextField(help_text="The event's name in the export, 'commented' for a comment")
    known = models.BooleanField(help_text="Whether this site has words for the event")
    external_id = models.TextField(blank=True)
    url = models.TextField(blank=True)
    account = models.TextField(blank=True)
    signed_name = models.TextField(blank=True, help_text="Who signed in the text, if somebody did")
    body = models.TextField(blank=True)
    raw = models.JSONField(blank=True)
    revises = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="revisions"
    )


class ThreadCount(IssueRecord):
    """How many comments the issue counts and how many its export held. The latest row holds."""

    declared_comments = models.PositiveIntegerField()
    present_comments = models.PositiveIntegerField()
    place = models.TextField(blank=True, help_text="Where the missing ones stand, if that is known")

    @property
    def missing_comments(self) -> int:
        return max(0, self.declared_comments - self.present_comments)


class IssueEvent(IssueRecord):
    """Opened, renamed, closed or reopened, with what caused it."""

    class Kind(models.TextChoices):
        OPENED = "opened", "opened"
        RENAMED = "renamed", "renamed"
        CLOSED = "closed", "closed"
        REOPENED = "reopened", "reopened"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    account = models.TextField(blank=True)
    cause = models.TextField(blank=True, help_text="For example the pull request whose merge closed it")
    before = models.TextField(blank=True, help_text="Earlier title of a renamed issue")
    after = models.TextField(blank=True, help_text="Title from then on")
