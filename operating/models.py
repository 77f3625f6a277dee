"""What operating remembers: finished backups, and who was heard of. A restore may lose both."""

from __future__ import annotations

from django.db import models


class Backup(models.Model):
    """One backup that was made, where, and what was wrong with it if anything was."""

    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    place = models.CharField(max_length=500, help_text="Host and folder")
    form = models.CharField(max_length=20)
    database_bytes = models.PositiveBigIntegerField()
    evidence_files = models.PositiveIntegerField()
    evidence_bytes = models.PositiveBigIntegerField()
    problem = models.TextField(blank=True)

    class Meta:
        ordering = ["-pk"]
        get_latest_by = "pk"

    def __str__(self) -> str:
        return f"{self.finished_at:%Y-%m-%d %H:%M:%S} UTC: {self.place}"


class Heartbeat(models.Model):
    """When a worker or the clock was last heard of; a worker that ends takes its row along."""

    name = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=10)
    heard_at = models.DateTimeField()
    version = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.name}, heard of {self.heard_at:%Y-%m-%d %H:%M:%S} UTC"
