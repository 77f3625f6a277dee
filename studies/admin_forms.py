"""Forms of the admin for what staff records."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminSplitDateTime, AutocompleteSelect

from rlvram_site.ledger.canonical import canonical
from studies.models import Attempt, Exclusion, Study
from studies.models.base import name_validator
from studies.services.outcomes.corrections import exclusion_problem

_DIGITS = 19  # of the first whole number that the database may not hold


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
        if attempt and (problem := exclusion_problem(attempt, lifted=bool(values.get("lifted")))):
            raise forms.ValidationError(f"{problem}.")
        return values


class _EntrySelect(AutocompleteSelect):
    """Shows a value that is no primary key as none chosen; the field itself refuses it."""

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        keys = [item for item in value if str(item).isdecimal() and len(str(item)) < _DIGITS]
        return super().optgroups(name, keys, attrs)


class CorrectionForm(forms.Form):
    """A declared outcome in the place of a wrong entry. The service says what goes together."""

    supersedes = forms.ModelChoiceField(
        Attempt.objects.all(),
        label="Wrong entry",
        widget=_EntrySelect(Attempt._meta.get_field("supersedes"), admin.site),
    )
    supersedes_reason = forms.CharField(
        label="What is wrong with it", max_length=2000, widget=forms.Textarea(attrs={"rows": 3, "cols": 100})
    )
    invocation_id = forms.CharField(
        label="Id of the corrected entry",
        max_length=200,
        validators=[name_validator],
        help_text="A new one, for good.",
    )
    outcome = forms.ChoiceField(choices=Attempt.Outcome.choices)
    diagnosis = forms.CharField(required=False, max_length=60)
    peak_mib = forms.FloatField(
        required=False, min_value=0, label="Peak (MiB)", help_text="Of a completed process only."
    )
    reason = forms.CharField(required=False, max_length=500, help_text="Why the slot stays unresolved.")
    source = forms.CharField(max_length=300, help_text="Who or what says so.")

    def declared(self) -> dict[str, Any]:
        """The outcome as an upload declares it."""
        names = ("outcome", "diagnosis", "peak_mib", "reason", "source")
        return {name: value for name in names if (value := self.cleaned_data[name]) not in (None, "")}
