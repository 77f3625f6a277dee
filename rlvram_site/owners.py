"""Who may begin studies of their own: people to whom staff granted it, by a record that can be ended."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models

from rlvram_site.ledger.models import LedgerRecord

STREAM = "site/owners"


class OwnerGrant(LedgerRecord):
    """Somebody may begin studies. Who granted it stands in the ledger."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="owner_grants"
    )
    reason = models.CharField(max_length=300)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.person} may begin studies"

    def ledger_stream(self) -> str:
        return STREAM


class OwnerGrantEnd(LedgerRecord):
    """A grant no longer holds, from when and why. What was begun under it stays."""

    grant = models.OneToOneField(OwnerGrant, on_delete=models.PROTECT, related_name="end")
    reason = models.CharField(max_length=300)

    class Meta:
        verbose_name = "end of an owner grant"
        verbose_name_plural = "ends of owner grants"

    def __str__(self) -> str:
        return f"ended: {self.grant}"

    def ledger_stream(self) -> str:
        return STREAM


def may_begin(user: Any) -> bool:
    """Whether a grant of this person holds; staff need none, and are not asked about here."""
    return OwnerGrant.objects.filter(person=user.pk, end=None).exists()
