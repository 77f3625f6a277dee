"""What is followed on the forge, and what is remembered of its answers. Not records: these rows change.

What arrives is recorded elsewhere, for good (``admission.services.importing``).
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from admission.models.issues import TrackedIssue


class Followed(models.Model):
    """One issue, or with the number 0 every issue of a repository, that is read again and again."""

    host = models.CharField(max_length=200)
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    number = models.PositiveIntegerField(default=0, help_text="0: every issue of the repository")
    label = models.CharField(
        max_length=100, blank=True, help_text="Of a repository: only issues with this label; empty: all"
    )
    issue = models.ForeignKey(
        TrackedIssue, null=True, blank=True, on_delete=models.PROTECT, related_name="followed"
    )
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="found",
        help_text="The followed repository in whose list it was found",
    )  # fmt: skip
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    paused = models.BooleanField(default=False)
    due_at = models.DateTimeField(default=timezone.now, help_text="When it is read next")
    lease_until = models.DateTimeField(null=True, blank=True, help_text="Somebody reads it until then")
    synced_at = models.DateTimeField(null=True, blank=True, help_text="When it was last read completely")
    sentence = models.CharField(max_length=300, blank=True, help_text="What the last complete read found")
    problem = models.CharField(max_length=500, blank=True, help_text="Why the last read failed")
    content_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of everything that was read when it was last recorded"
    )
    failures = models.PositiveIntegerField(default=0, help_text="Reads that failed one after the other")
    cursor = models.CharField(
        max_length=40, blank=True,
        help_text="Of a repository: read up to this updated_at; of an issue in its list: changed last then",
    )  # fmt: skip

    class Meta:
        ordering = ["owner", "name", "number"]
        verbose_name_plural = "followed"
        constraints = [
            models.UniqueConstraint("host", Lower("owner"), Lower("name"), "number", name="followed_once")
        ]
        indexes = [models.Index(fields=["paused", "due_at"], name="followed_by_due")]

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}" + (f"#{self.number}" if self.number else "")


class ForgeAnswer(models.Model):
    """One page of the forge as it last was, with the tag under which it is asked about again."""

    followed = models.ForeignKey(Followed, on_delete=models.CASCADE, related_name="answers")
    url = models.CharField(max_length=500)
    etag = models.CharField(max_length=300, blank=True)
    next_url = models.CharField(max_length=500, blank=True)
    text = models.TextField()
    fetched_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["followed", "url"], name="answer_once")]

    def __str__(self) -> str:
        return self.url


class HookDelivery(models.Model):
    """A webhook delivery that was taken; the same id is never taken again."""

    delivery = models.CharField(max_length=100, unique=True)
    event = models.CharField(max_length=60)
    repository = models.CharField(max_length=210, blank=True)
    number = models.PositiveIntegerField(null=True, blank=True)
    made_due = models.PositiveIntegerField(default=0, help_text="How many followed issues it made due")
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "hook deliveries"

    def __str__(self) -> str:
        return f"{self.event} {self.delivery}"
