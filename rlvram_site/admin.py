"""API keys and the ledger in the admin. A key's secret is shown once, on the page that answers its issue."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from rlvram_site.access import is_staff
from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, ApiKeyUse, Scope, issue_key
from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.logins.resets import SecondStepReset, people_with_second_step, reset_second_step
from rlvram_site.owners import OwnerGrant, OwnerGrantEnd
from rlvram_site.record_admin import RecordAdmin
from rlvram_site.witness.models import HeadSignature, SigningKey, TimeStamp


class ApiKeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(choices=Scope.choices, widget=forms.CheckboxSelectMultiple)

    class Meta:
        model = ApiKey
        fields = ["name", "owner", "study", "scopes", "expires_at"]

    def clean_expires_at(self) -> Any:
        moment = self.cleaned_data["expires_at"]
        if moment is not None and moment <= timezone.now():
            raise forms.ValidationError(f"{moment:%Y-%m-%d %H:%M:%S} UTC is in the past.")
        return moment


@admin.register(ApiKey)
class ApiKeyAdmin(RecordAdmin):
    """Issue a key here; to revoke one, record its revocation."""

    form = ApiKeyForm
    list_display = ["name", "prefix", "owner", "study", "scope_list", "expires_at", "state", "last_used",
                    "recorded_at"]  # fmt: skip
    search_fields = ["name", "prefix"]
    readonly_fields = ["prefix", "state", "last_used"]

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        issued = ["prefix", "state", "last_used"] if obj else []
        return ["name", "owner", "study", "scopes", "expires_at", *issued]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Staff issue keys in their own name; only superusers, who could log in as anybody, in another's."""
        if db_field.name == "owner":
            user: Any = request.user
            kwargs["initial"] = user.pk
            if not user.is_superuser:
                kwargs["queryset"] = get_user_model().objects.filter(pk=user.pk)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    @admin.display(description="scopes")
    def scope_list(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description="state")
    def state(self, key: ApiKey) -> str:
        return key.problem() or key.ending() or "valid"

    @admin.display(description="last used")
    def last_used(self, key: ApiKey) -> Any:
        use = ApiKeyUse.objects.filter(key=key).first()
        return use.last_used_at if use else None

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        values = form.cleaned_data
        key, request.issued_secret = issue_key(  # type: ignore[attr-defined]
            name=values["name"], owner=values["owner"], study=values["study"], scopes=values["scopes"],
            expires_at=values["expires_at"],
        )  # fmt: skip
        obj.pk, obj.prefix = key.pk, key.prefix

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: Any = None) -> HttpResponse:
        return _issued(request, self, obj)


@never_cache
def _issued(request: HttpRequest, model_admin: ApiKeyAdmin, key: ApiKey) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "title": "API key issued",
        "opts": ApiKey._meta,
        "key": key,
        "secret": request.issued_secret,  # type: ignore[attr-defined]
    }
    return render(request, "admin/api_key_issued.html", context)


@admin.register(ApiKeyRevocation)
class ApiKeyRevocationAdmin(RecordAdmin):
    """Revoking is a record of its own, and there is no way back."""

    list_display = ["key", "reason", "recorded_at"]
    fields = ["key", "reason"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)


@admin.register(OwnerGrant)
class OwnerGrantAdmin(RecordAdmin):
    """Let somebody begin studies here; to take it back, record the grant's end."""

    list_display = ["person", "reason", "recorded_at"]
    fields = ["person", "reason"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)


@admin.register(OwnerGrantEnd)
class OwnerGrantEndAdmin(RecordAdmin):
    """A grant ends here. Studies that were begun under it stay."""

    list_display = ["grant", "reason", "recorded_at"]
    fields = ["grant", "reason"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)


# There secrets would be read and second steps deleted without a record.
admin.site.unregister(Authenticator)


@admin.register(SecondStepReset)
class SecondStepResetAdmin(RecordAdmin):
    """For who has lost both app and codes. Recorded with its reason; only superusers add one."""

    list_display = ["person", "reason", "recorded_at"]
    fields = ["person", "reason"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        user: Any = request.user
        return user.is_active and user.is_superuser

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only who has a second step can lose it."""
        if db_field.name == "person":
            kwargs["queryset"] = people_with_second_step(get_user_model().objects.order_by("username"))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: SecondStepReset, form: Any, change: bool) -> None:
        reset_second_step(obj)


@admin.register(TimeStamp, SigningKey, HeadSignature)
class WitnessAdmin(RecordAdmin):
    """What witnesses said; the witnesses' page has it in words."""


@admin.register(LedgerEntry)
class LedgerEntryAdmin(RecordAdmin):
    """Who recorded what, when: the links of every stream."""

    list_display = ["stream", "sequence", "record_type", "record_id", "actor", "recorded_at", "sha256"]
    list_filter = ["stream", "record_type"]
    search_fields = ["actor", "sha256", "payload_sha256"]
    ordering = ["-pk"]
