"""Who is told of what, what was to be told, and what became of each message. None of these is a record."""

from __future__ import annotations

import hashlib
import hmac
import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac

from admission.models import TrackedIssue
from notices.kinds import OF_ISSUES, OF_STUDIES, Kind
from studies.models import Study


def new_nonce() -> str:
    return uuid.uuid4().hex


class Subscription(models.Model):
    """One person wants to be told of one issue, one study, or (with neither) everything, in one way."""

    class Channel(models.TextChoices):
        EMAIL = "email", "mail"
        FEED = "feed", "Atom feed"
        WEBHOOK = "webhook", "webhook"

    class Timing(models.TextChoices):
        AT_ONCE = "at_once", "at once"
        DAILY = "daily", "once a day"

    class Shape(models.TextChoices):
        JSON = "json", "JSON, signed"
        SLACK = "slack", "Slack message"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscriptions")
    issue = models.ForeignKey(TrackedIssue, null=True, blank=True, on_delete=models.PROTECT)
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.PROTECT)
    channel = models.CharField(max_length=10, choices=Channel.choices)
    timing = models.CharField(max_length=10, choices=Timing.choices, default=Timing.AT_ONCE)
    kinds = models.JSONField(default=list, help_text="Of which kinds; empty: all")
    url = models.CharField(max_length=500, blank=True, help_text="Of a webhook: where it is posted")
    shape = models.CharField(max_length=10, choices=Shape.choices, default=Shape.JSON)
    nonce = models.CharField(max_length=32, default=new_nonce)
    created_at = models.DateTimeField(default=timezone.now)
    paused = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was ended for good")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["issue", "study"], name="subscriptions_by_subject")]

    def __str__(self) -> str:
        return f"{self.subject} by {self.get_channel_display()}"

    @property
    def subject(self) -> str:
        """What it is about, in words."""
        return str(self.issue or self.study or "every issue and study")

    @property
    def possible_kinds(self) -> tuple[Kind, ...]:
        """What can happen to its subject."""
        return OF_ISSUES if self.issue_id else OF_STUDIES if self.study_id else tuple(Kind)

    def wants(self, notice: Notice) -> bool:
        return not self.kinds or notice.kind in self.kinds

    @property
    def secret(self) -> str:
        """What its webhooks are signed with. It follows from ``SECRET_KEY`` and is not stored."""
        return salted_hmac("notices.webhook", self.nonce, algorithm="sha256").hexdigest()

    def signature(self, timestamp: str, body: bytes) -> str:
        """``sha256=…`` over the time of sending, a dot, and the body."""
        return (
            "sha256="
            + hmac.new(self.secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
        )


class FeedKey(models.Model):
    """What opens a person's feed. The key itself is shown once; here is its hash."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="feed_keys")
    prefix = models.CharField(max_length=12, unique=True)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True, help_text="To the hour")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.prefix}…"


class Snapshot(models.Model):
    """What held about a stream when somebody last looked, to compare with."""

    stream = models.CharField(max_length=200, unique=True)
    sequence = models.PositiveBigIntegerField(help_text="Links of the stream that it rests on")
    state = models.JSONField()
    taken_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.stream} #{self.sequence}"


class Notice(models.Model):
    """Something that people are told: what held before, what holds now, and where to read it."""

    kind = models.CharField(max_length=30, choices=Kind.choices)
    issue = models.ForeignKey(TrackedIssue, null=True, blank=True, on_delete=models.PROTECT)
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.PROTECT)
    title = models.TextField(help_text="Of the issue or study, at that time")
    before = models.TextField()
    now = models.TextField()
    path = models.CharField(max_length=500, help_text="Permalink on this site")
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.subject}: {self.get_kind_display()}"

    def get_absolute_url(self) -> str:
        return self.path

    @property
    def subject(self) -> str:
        return str(self.issue or self.study)


class Message(models.Model):
    """Notices on their way to one person. Only ``notices.sending`` changes what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        SENDING = "sending", "being sent"
        DELIVERED = "delivered", "delivered"
        FAILED = "failed", "failed"
        DROPPED = "dropped", "not sent any more"

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="messages")
    notices: models.ManyToManyField = models.ManyToManyField(
        Notice, through="MessageNotice", related_name="messages"
    )
    identity = models.UUIDField(default=uuid.uuid4, unique=True, help_text="The same at every attempt")
    digest = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    due_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveIntegerField(default=0)
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=500, blank=True, help_text="Why the last attempt failed")

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["state", "due_at"], name="messages_by_due")]

    def __str__(self) -> str:
        return f"message {self.pk}"


class MessageNotice(models.Model):
    """A notice in a message; never twice for the same subscription."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE)
    notice = models.ForeignKey(Notice, on_delete=models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subscription", "notice"], name="told_once"),
        ]

    def __str__(self) -> str:
        return f"{self.notice} in {self.message}"
