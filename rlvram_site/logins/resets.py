"""Taking away the second step of somebody who lost app and codes: by a superuser, recorded with a reason."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.db import models, transaction

from rlvram_site.ledger.chain import record
from rlvram_site.ledger.models import LedgerRecord

STREAM = "site/logins"


class SecondStepReset(LedgerRecord):
    """A person's second step was taken away; the password alone opens the account until another is set up."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="second_step_resets"
    )
    reason = models.CharField(max_length=300, help_text="How it was made sure that it is this person")

    class Meta:
        ordering = ["-pk"]
        verbose_name = "reset of a second step"
        verbose_name_plural = "resets of second steps"

    def __str__(self) -> str:
        return f"second step of {self.person}"

    def ledger_stream(self) -> str:
        return STREAM


def people_with_second_step(people: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Those of them who have set one up."""
    return people.filter(pk__in=Authenticator.objects.values("user"))


def reset_second_step(reset: SecondStepReset) -> None:
    """Record the reset and remove app and codes of its person, both or neither."""
    with transaction.atomic():
        record(reset)
        Authenticator.objects.filter(user=reset.person).delete()
