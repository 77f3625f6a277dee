"""Studies that somebody is still writing: the files of a folder, kept until they are recorded as a study.

A draft is nobody's record: its rows change, and its owner may throw it away.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from studies.models.plan import Study


class StudyDraft(models.Model):
    """A folder in writing. ``version`` grows with every change, so that two windows don't undo each other."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="study_drafts")
    title = models.CharField(max_length=200, blank=True, help_text="As study.yaml has it, for lists")
    version = models.PositiveIntegerField(default=0)
    study = models.OneToOneField(
        Study, null=True, blank=True, on_delete=models.PROTECT, related_name="draft",
        help_text="What was recorded from it; it then changes no more",
    )  # fmt: skip
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-changed_at", "-pk"]

    def __str__(self) -> str:
        return self.title or f"draft {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("study-draft", args=[self.pk])


class DraftFile(models.Model):
    """One file of a draft, by its path in the folder."""

    draft = models.ForeignKey(StudyDraft, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=400)
    content = models.BinaryField()

    class Meta:
        ordering = ["path"]
        constraints = [models.UniqueConstraint(fields=["draft", "path"], name="draft_file_once")]

    def __str__(self) -> str:
        return self.path
