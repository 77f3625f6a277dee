"""What operating remembers: finished backups. Not recorded rows: a restore may lose them."""

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
