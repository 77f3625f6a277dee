"""Machines with devices that run planned slots."""

from __future__ import annotations

import datetime as dt

from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse
from django.utils import timezone

SEEN_WITHIN = dt.timedelta(minutes=2)

host_name = RegexValidator(
    r"^[a-z0-9][a-z0-9-]{0,62}\Z", "expected 1 to 63 lower-case letters, digits and hyphens, no hyphen first"
)


class Host(models.Model):
    """A host as it last described itself. What it did stands in jobs and attempts; this only remembers."""

    name = models.CharField(max_length=63, unique=True, validators=[host_name])
    hostname = models.CharField(max_length=200, blank=True)
    driver = models.CharField(max_length=100, blank=True)
    machine = models.CharField(max_length=64, blank=True, help_text="Tells machines of one name apart")
    devices = models.JSONField(default=list, help_text="uuid, ordinal, name and capacity_mib of each")
    programs = models.JSONField(default=list, help_text="Names of the programs that its own file allows")
    set_aside = models.JSONField(default=list, help_text="invocation and reason of runs that were not taken")
    holder = models.CharField(
        max_length=200, blank=True,
        help_text="The key or person that registered it; empty once staff have released it",
    )  # fmt: skip
    registered_at = models.DateTimeField(default=timezone.now)
    registered_by = models.CharField(max_length=200)
    last_seen_at = models.DateTimeField(default=timezone.now)
    current_slot = models.CharField(max_length=200, blank=True)
    memory_mib = models.JSONField(default=dict, help_text="Last sample by UUID, MiB")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("host", args=[self.name])

    @property
    def queue(self) -> str:
        """The queue that only this host serves."""
        return queue_of(self.name)

    @property
    def away(self) -> bool:
        """Not heard of lately."""
        return timezone.now() - self.last_seen_at > SEEN_WITHIN


def queue_of(name: str) -> str:
    """The queue of the host called ``name``."""
    return f"gpu.{name}"
