"""The form above the list of issues."""

from __future__ import annotations

from typing import Any

from django import forms

from admission.services.summaries import IssueQuery, repositories

_ORDERS = {
    "-said": "last spoken about",
    "said": "longest silent",
    "title": "title",
    "repository": "repository",
    "-opened": "newest",
    "opened": "oldest",
    "-unsafe": "most unsafe decisions",
    "-questions": "most open questions",
}


class IssueListForm(forms.Form):
    """What to look for. Everything may be left out."""

    search = forms.CharField(label="Search", required=False, max_length=200, widget=forms.SearchInput())
    state = forms.ChoiceField(
        label="State", required=False, choices=[("", "any"), ("open", "open"), ("closed", "closed")]
    )
    repository = forms.CharField(
        label="Repository",
        required=False,
        max_length=300,
        widget=forms.TextInput(attrs={"list": "repositories"}),
    )
    ordering = forms.ChoiceField(label="Order", required=False, choices=list(_ORDERS.items()))
    unsafe = forms.BooleanField(label="unsafe decisions", required=False)
    without_verdict = forms.BooleanField(label="a head without a verdict", required=False)
    unanswered = forms.BooleanField(label="nothing said for 30 days", required=False)

    TYPED = ("search", "state", "repository", "ordering")
    CHECKS = ("unsafe", "without_verdict", "unanswered")

    def typed(self) -> list[Any]:
        """The fields with a value."""
        return [self[name] for name in self.TYPED]

    def checks(self) -> list[Any]:
        """The fields that are ticked or not."""
        return [self[name] for name in self.CHECKS]

    def repositories(self) -> list[str]:
        """What the field of the repository offers."""
        return repositories()

    @property
    def is_narrowed(self) -> bool:
        """Whether fewer issues than all of them are asked for."""
        data = getattr(self, "cleaned_data", {})
        return any(data.get(name) for name in (*self.CHECKS, "search", "state", "repository"))

    def query(self) -> IssueQuery:
        """What a valid form asks for."""
        data = {name: value for name, value in self.cleaned_data.items() if value}
        return IssueQuery(**data)
