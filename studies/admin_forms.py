"""Forms of the admin for what staff records."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime

from rlvram_site.ledger.canonical import canonical
from studies.models import Exclusion, Study
from studies.services.eligibility import standing_exclusion


class StudyField(forms.ModelChoiceField):
    """Studies by title and slug; titles alone may be the same."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.title} ({obj.slug})"


class AmendmentForm(forms.Form):
    """New values by protocol key. ``confirmed`` is the digest of the ledger's end that a preview showed."""

    study = StudyField(Study.objects.filter(protocols__isnull=False))
    updates = forms.JSONField(
        label="New values by key",
        widget=forms.Textarea(attrs={"rows": 14, "cols": 100, "spellcheck": "false"}),
        help_text='A JSON object, for example {"features": ["actor_shards_gib", …]}.',
    )
    reason = forms.CharField(widget=forms.Textarea(attrs={"rows": 3, "cols": 100}), max_length=5000)
    amended_at = forms.SplitDateTimeField(
        required=False,
        label="Time that the amendment states",
        widget=AdminSplitDateTime,
        help_text="UTC; empty: now. It decides nothing: what this is called follows from the ledger's order.",
    )
    confirmed = forms.CharField(required=False, widget=forms.HiddenInput, max_length=64)

    def clean_updates(self) -> dict[str, Any]:
        updates = self.cleaned_data["updates"]
        if not isinstance(updates, dict) or not updates:
            raise forms.ValidationError("Expected a JSON object with at least one key.")
        try:
            return canonical(updates)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


class ExclusionForm(forms.ModelForm):
    """One attempt and why it does not count, or counts again."""

    class Meta:
        model = Exclusion
        fields = ["attempt", "lifted", "reason"]
        labels = {"lifted": "Lift the exclusion: the attempt counts again"}
        help_texts = {"lifted": ""}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        attempt = values.get("attempt")
        if attempt is not None:
            standing = standing_exclusion(attempt.exclusions.all())
            if values.get("lifted") and standing is None:
                raise forms.ValidationError(f"{attempt} is not excluded, so there is nothing to lift.")
            if not values.get("lifted") and standing is not None:
                raise forms.ValidationError(f"{attempt} is already excluded: {standing.reason}")
        return values
