"""Forms that record a witness from a log and a verdict from its address. Rules are in the services."""

from __future__ import annotations

import re
from typing import Any

from django import forms

from admission.models import Review, ThreadItem, TrackedIssue, Witness
from admission.thread.loglines import MAX_PASTED
from admission.thread.mentions import COMMIT, VERDICT

_SIZES = ("required", "usable", "failed_request", "free", "allocated")
_LABELS = {
    "required": "Predicted need", "usable": "Usable", "failed_request": "Request that failed",
    "free": "Free then", "allocated": "Allocated then",
}  # fmt: skip


class PasteForm(forms.Form):
    """The line of a log, or the message of an admission."""

    log = forms.CharField(
        label="Log line or admission message", max_length=MAX_PASTED, strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "mono"}),
    )  # fmt: skip


class WitnessForm(forms.Form):
    """One admission decision and what happened. Sizes are bytes, with the words that gave them beside."""

    title = forms.CharField(label="Run", max_length=500)
    decision = forms.ChoiceField(label="Admission", choices=Witness.Decision.choices)
    outcome = forms.ChoiceField(label="What happened", choices=Witness.Outcome.choices)
    trusted = forms.TypedChoiceField(
        label="Price", required=False, empty_value=None, coerce=lambda value: value == "yes",
        choices=[("", "not stated"), ("yes", "trusted profile"), ("no", "cold estimate")],
    )  # fmt: skip
    model_name = forms.CharField(label="Model", required=False, max_length=500)
    hardware = forms.CharField(label="Hardware", required=False, max_length=500)
    policy_revision = forms.CharField(label="Policy or revision", required=False, max_length=500)
    packed_tokens = forms.IntegerField(
        label="Packed tokens", required=False, min_value=0, max_value=2**63 - 1
    )
    logical_tokens = forms.IntegerField(
        label="Logical tokens", required=False, min_value=0, max_value=2**63 - 1
    )
    note = forms.CharField(label="Note", required=False, max_length=5_000)
    stated = forms.CharField(
        label="Stated", required=False, max_length=200,
        help_text="For example 2026-09-18 or 2026-09-18 14:03 UTC. Empty: now.",
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in _SIZES:
            self.fields[f"{name}_bytes"] = forms.IntegerField(
                label=f"{_LABELS[name]}, bytes", required=False, min_value=0, max_value=2**63 - 1
            )
            self.fields[f"{name}_words"] = forms.CharField(
                label=f"{_LABELS[name]}, as given", required=False, max_length=100
            )

    @classmethod
    def from_log(cls, found: dict[str, Any]) -> WitnessForm:
        """The form as ``admission.thread.loglines.read_log`` fills it."""
        trusted = {"True": "yes", "False": "no"}.get(str(found.get("trusted")), "")
        return cls(initial={**found, "trusted": trusted})

    def row(self) -> Witness:
        """The witness that a valid form describes, not recorded."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "stated"}
        return Witness(**values)


class AddressForm(forms.Form):
    """Where a review can be read."""

    address = forms.CharField(label="Address of the review or comment", max_length=500)


class VerdictForm(forms.Form):
    """A verdict on one exact head of a change."""

    change = forms.ChoiceField(label="Change")
    head_sha = forms.CharField(label="Head", max_length=64)
    reviewer = forms.CharField(label="Reviewer", max_length=200)
    verdict = forms.ChoiceField(label="Verdict", choices=Review.Verdict.choices)
    withdraws = forms.ChoiceField(label="Withdraws", required=False)
    note = forms.CharField(label="Note", required=False, max_length=5_000)
    stated = forms.CharField(label="Stated", required=False, max_length=200, help_text="Empty: now.")
    stated_in = forms.CharField(widget=forms.HiddenInput, required=False, max_length=120)
    sentence = forms.CharField(widget=forms.HiddenInput, required=False, max_length=2_000)

    def __init__(self, *args: Any, issue: TrackedIssue, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.issue = issue
        changes = issue.change_rows.all().order_by("number", "id")
        reviews = issue.review_rows.exclude(verdict=Review.Verdict.WITHDRAWN).order_by("-id")
        self.fields["change"].choices = [  # type: ignore[attr-defined]
            ("", "choose a change"), *((c.key, f"{c.label} {c.title}"[:80]) for c in changes),
        ]  # fmt: skip
        self.fields["withdraws"].choices = [  # type: ignore[attr-defined]
            ("", "none"), *((r.key, f"{r.reviewer}, {r.head_sha[:8]}") for r in reviews),
        ]  # fmt: skip

    @classmethod
    def from_address(cls, issue: TrackedIssue, address: str) -> tuple[VerdictForm, ThreadItem | None]:
        """The form as far as the address, and the comment that it leads to, fill it; and that comment."""
        initial: dict[str, Any] = {}
        pull = re.search(r"/pull/(\d{1,9})", address)
        if pull and (change := issue.change_rows.filter(number=int(pull[1]), repository="").first()):
            initial["change"] = change.key
        item = _item_at(issue, address)
        if item is not None:
            verdict = VERDICT.search(item.body)
            head = COMMIT.search(item.body)
            initial |= {
                "reviewer": item.signed_name or item.account,
                "verdict": verdict.lastgroup if verdict else "",
                "head_sha": head[0] if head and len(head[0]) <= 40 else "",
                "stated": item.stated_words or item.stated_day.isoformat(),
                "stated_in": item.key.partition("-r")[0],
                "note": address,
            }
        else:
            initial["note"] = address
        return cls(issue=issue, initial=initial), item

    def row(self) -> Review:
        """The review that a valid form describes, not recorded."""
        data = self.cleaned_data
        withdraws = (
            self.issue.review_rows.filter(key=data["withdraws"]).first() if data["withdraws"] else None
        )
        return Review(
            change=self.issue.change_rows.get(key=data["change"]), head_sha=data["head_sha"].lower(),
            reviewer=data["reviewer"], verdict=data["verdict"], withdraws=withdraws, note=data["note"],
            stated_in=data["stated_in"], sentence=data["sentence"],
        )  # fmt: skip


def _item_at(issue: TrackedIssue, address: str) -> ThreadItem | None:
    """The latest words of the comment or review that ``address`` leads to, if it was imported."""
    match = re.search(r"#(?:issuecomment-|pullrequestreview-|discussion_r)(\d{1,30})", address)
    rows = issue.threaditem_rows.order_by("-id")
    found = rows.filter(external_id=match[1]).first() if match else None
    return found or (rows.filter(url=address).first() if address else None)
