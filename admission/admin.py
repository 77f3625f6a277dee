"""Tracked issues in the admin: all of it can be read, nothing changed; superseding is a new record."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from admission import models as tables
from admission.models.base import IssueRecord, Origin
from admission.services.recording import record_row, stated_time
from rlvram_site.access import is_staff
from rlvram_site.record_admin import RecordAdmin

# What the site itself knows of a row that somebody types.
_FILLED = (
    "key",
    "origin",
    "stated_words",
    "stated_precision",
    "stated_day",
    "sort_at",
    "text_sha256",
    "sentence",
    "seen_at",
)


class RecordForm(forms.ModelForm):
    """A new row: its time is typed in words, its key and origin are the site's."""

    stated = forms.CharField(
        label="Stated", required=False,
        help_text="For example 2026-09-18, 2026-09-18 14:03 UTC or September 18, 2026, late evening "
        "Mountain. Empty: now.",
    )  # fmt: skip

    def clean_stated(self) -> str:
        text = self.cleaned_data["stated"]
        try:
            stated_time(text)
        except ValidationError as error:
            raise ValidationError(error.messages) from None
        return text


class AddedRecordAdmin(RecordAdmin):
    """Rows of one kind; a new one supersedes, corrects or adds, and is recorded by the service."""

    form = RecordForm
    stem = "record"
    list_display: Any = ("__str__", "issue", "stated_day", "origin")
    list_filter = ("issue", "origin")
    ordering = ("-sort_at", "-id")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> Any:
        return _FILLED if obj is None else ("stated",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None:
            return [f.name for f in self.model._meta.concrete_fields if f.name != "id"]
        typed = [
            f.name
            for f in self.model._meta.concrete_fields
            if f.editable
            and f.name not in (*_FILLED, "id", "issue", "revises", "heading", "supersedes_words")
        ]
        return ["issue", "stated", *typed]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        made = super().get_form(request, obj, change=change, **kwargs)
        recorder = self

        class Checked(made):  # type: ignore[valid-type, misc]
            instance: IssueRecord

            def clean(self) -> dict[str, Any]:
                cleaned = super().clean() or {}
                if not self.errors and obj is None:
                    self._try_recording()
                return cleaned

            def _try_recording(self) -> None:
                self.instance = forms.models.construct_instance(self, self.instance, self._meta.fields)
                try:
                    row = recorder.recorded(self.instance, self.cleaned_data["stated"])
                except ValidationError as error:
                    for name, texts in error.message_dict.items():
                        self.add_error(name if name in self.fields else None, texts)
                else:
                    self.instance = row

            def _post_clean(self) -> None:
                if obj is not None:
                    super()._post_clean()

        return Checked

    def recorded(self, row: IssueRecord, stated: str) -> IssueRecord:
        """Record ``row``. Raises ``ValidationError`` by field."""
        return record_row(row.issue, row, self.stem, stated, Origin.STAFF)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The row is recorded already: the form's check and its recording are one step."""


class StatusUpdateAdmin(AddedRecordAdmin):
    """A later update supersedes the ones before it."""

    stem = "status"
    list_display = ("claim", "issue", "stated_day", "signed_name", "origin")

    def recorded(self, row: IssueRecord, stated: str) -> IssueRecord:
        day = stated_time(stated).day
        return record_row(row.issue, row, f"status-{day:%Y%m%d}", stated, Origin.STAFF)


class FollowedAdmin(RecordAdmin):
    """What is followed on the forge, and which deliveries its webhook made; the pages act on it."""

    list_display: Any = ("__str__",)
    list_select_related = False

    def get_list_display(self, request: HttpRequest) -> Any:
        if self.model is tables.Followed:
            return ("__str__", "paused", "due_at", "synced_at", "failures", "problem")
        return ("__str__", "repository", "number", "made_due", "received_at")


def _register() -> None:
    kinds: tuple[tuple[type[IssueRecord], str], ...] = (
        (tables.Correction, "correction"),
        (tables.OpenQuestion, "question"),
        (tables.QuestionMention, "mention"),
        (tables.RelatedIssue, "related"),
        (tables.Change, "change"),
        (tables.ChangeHead, "head"),
        (tables.Review, "review"),
        (tables.Receipt, "receipt"),
        (tables.Witness, "witness"),
        (tables.Measurement, "measurement"),
        (tables.IssueEvent, "event"),
        (tables.LaterFact, "fact"),
    )
    admin.site.register(tables.StatusUpdate, StatusUpdateAdmin)
    for model, stem in kinds:
        admin.site.register(model, type(f"{model.__name__}Admin", (AddedRecordAdmin,), {"stem": stem}))
    for imported in (
        tables.TrackedIssue, tables.IssueAddress, tables.IssueVersion, tables.ThreadItem, tables.ThreadCount,
        tables.RecordedReplay, tables.Proposal, tables.ProposalDecision,
    ):  # fmt: skip
        admin.site.register(imported, RecordAdmin)

    for followed in (tables.Followed, tables.HookDelivery):
        admin.site.register(followed, FollowedAdmin)


_register()
