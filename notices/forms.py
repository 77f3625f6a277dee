"""Asking to be told."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from admission.services.identity import known_issue
from notices import webhooks
from notices.kinds import Kind
from notices.models import Subscription
from notices.sending import mail_problem
from notices.watching import see
from studies.models import Study

MAX_PER_PERSON = 500
Channel = Subscription.Channel


class SubscriptionForm(forms.Form):
    """One more way of being told. ``about`` is ``everything``, ``study:SLUG`` or ``issue:OWNER/NAME#N``."""

    about = forms.CharField(label="Tell me about", max_length=330)
    channel = forms.ChoiceField(label="By", choices=Channel.choices)
    timing = forms.ChoiceField(label="When", choices=Subscription.Timing.choices, required=False)
    url = forms.CharField(label="Webhook address", max_length=webhooks.MAX_URL, required=False)
    shape = forms.ChoiceField(label="Webhook form", choices=Subscription.Shape.choices, required=False)
    kinds = forms.MultipleChoiceField(label="Only when", choices=Kind.choices, required=False)

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_about(self) -> dict[str, Any]:
        """The subject as columns of a subscription."""
        text = self.cleaned_data["about"].strip()
        if text == "everything":
            return {"issue": None, "study": None}
        what, _, name = text.partition(":")
        if what == "study":
            study = Study.objects.filter(slug=name).first()
            if study is not None:
                return {"issue": None, "study": study}
        if what == "issue":
            address, _, number = name.rpartition("#")
            parts = address.split("/")
            if len(parts) in (2, 3) and number.isascii() and number.isdigit() and int(number) < 2**31:
                host = parts[0] if len(parts) == 3 else ""
                owner, repository = parts[-2:]
                issue = known_issue(owner, repository, int(number), host)
                if issue is not None:
                    return {"issue": issue, "study": None}
        raise ValidationError(
            f"{text[:80]!r} is nothing here; expected everything, study:SLUG or issue:OWNER/NAME#NUMBER."
        )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        channel = values.get("channel")
        if channel == Channel.EMAIL:
            problem = mail_problem()
            if not problem and not self.user.email:
                problem = "Your account has no mail address; staff can add it in the admin."
            if problem:
                self.add_error("channel", problem)
        if channel == Channel.WEBHOOK:
            self._check_url(values.get("url", ""))
        about, kinds = values.get("about"), values.get("kinds", [])
        if about is not None:
            possible = Subscription(**about).possible_kinds
            wrong = [kind for kind in kinds if kind not in possible]
            if wrong:
                self.add_error("kinds", f"“{Kind(wrong[0]).label}” cannot happen to what you chose.")
        if Subscription.objects.filter(user=self.user, ended_at=None).count() >= MAX_PER_PERSON:
            self.add_error(None, f"You are told of {MAX_PER_PERSON} things already; end some first.")
        return values

    def _check_url(self, url: str) -> None:
        if not url:
            self.add_error("url", "A webhook needs the address that it is posted to.")
            return
        try:
            webhooks.check_target(url)
        except webhooks.TargetRefused as error:
            self.add_error("url", str(error))

    def save(self) -> tuple[Subscription, bool]:
        """The subscription and whether it is new; the same one again is resumed."""
        values = self.cleaned_data
        webhook = values["channel"] == Channel.WEBHOOK
        same = {
            "user": self.user, **values["about"], "channel": values["channel"],
            "url": values["url"] if webhook else "",
        }  # fmt: skip
        changes = {
            "timing": values["timing"] or Subscription.Timing.AT_ONCE,
            "shape": values["shape"] if webhook and values["shape"] else Subscription.Shape.JSON,
            "kinds": values["kinds"],
            "paused": False,
        }
        found = Subscription.objects.filter(**same, ended_at=None).first()
        subject = values["about"]["issue"] or values["about"]["study"]
        if subject is not None:
            see(subject)
        if found is None:
            return Subscription.objects.create(**same, **changes), True
        Subscription.objects.filter(pk=found.pk).update(**changes)
        return found, False
