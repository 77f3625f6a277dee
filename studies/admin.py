"""Studies in the admin: staff record amendments and exclusions here, and read everything else."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html

from rlvram_site.access import is_staff
from rlvram_site.ledger.models import LedgerRecord
from rlvram_site.record_admin import RecordAdmin
from studies.admin_forms import AmendmentForm, CorrectionForm, ExclusionForm
from studies.models import Amendment, Attempt, EvidenceQuota, Exclusion, Host, Refusal, Study
from studies.services.errors import ServiceError, UploadRefused
from studies.services.hosts import release
from studies.services.outcomes.corrections import correct_attempt, exclude, lift
from studies.services.plan import amendments
from studies.services.plan.amendments import HistoryMoved, Preview, preview_amendment, record_amendment
from studies.services.refusals import keep_refusal
from studies.text.diffs import value_diff


class StudyRecordAdmin(RecordAdmin):
    """Asking the admin to change or delete a study's record is refused, and kept."""

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        self._keep(request, object_id, "changed")
        return super().change_view(request, object_id, form_url, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        self._keep(request, object_id, "deleted")
        return super().delete_view(request, object_id, extra_context)

    def _keep(self, request: HttpRequest, object_id: str, verb: str) -> None:
        row: Any = self.get_object(request, object_id) if request.method == "POST" else None
        study = getattr(row, "study", None)
        if isinstance(row, LedgerRecord) and isinstance(study, Study) and is_staff(request.user):
            what = f"{self.opts.verbose_name} {row}"[:300]
            keep_refusal(study, Refusal.What.RECORD, f"{what} is recorded, and records are never {verb}")


@admin.register(Amendment)
class AmendmentAdmin(StudyRecordAdmin):
    """Two steps: what it would change and what it is called, then the record."""

    list_display = ["study", "number", "word", "amended_at", "recorded_at", "reason"]
    list_filter = ["study"]
    readonly_fields = ["word"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    @admin.display(description="is a(n)")
    def word(self, amendment: Amendment) -> str:
        found = {item.amendment.pk: item.word for item in amendments.effects(amendment.study)}
        return str(found[amendment.pk])

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        form = AmendmentForm(request.POST or None)
        preview: Preview | None = None
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data
            try:
                if values["confirmed"]:
                    amendment = record_amendment(
                        values["study"], values["updates"], reason=values["reason"],
                        amended_at=values["amended_at"], confirmed=values["confirmed"],
                    )  # fmt: skip
                    messages.success(
                        request,
                        f"Recorded as number {amendment.number}. By the ledger: {self.word(amendment)}.",
                    )
                    return HttpResponseRedirect(
                        reverse("admin:studies_amendment_change", args=[amendment.pk])
                    )
                preview = preview_amendment(values["study"], values["updates"])
            except HistoryMoved as error:
                form.add_error(None, str(error))
                preview = preview_amendment(values["study"], values["updates"])
            except ServiceError as error:
                form.add_error("updates", str(error))
        return render(request, "admin/amendment_add.html", self._context(request, form, preview))

    def _context(self, request: HttpRequest, form: AmendmentForm, preview: Preview | None) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "title": "Record an amendment" if preview is None else "Check and record",
            "opts": Amendment._meta,
            "form": form,
            "media": self.media + form.media,
            "preview": preview,
            "keys": [
                (key, value_diff(key.before_sentence or key.before, key.after_sentence or key.after))
                for key in (preview.keys if preview else ())
            ],
        }


@admin.register(Exclusion)
class ExclusionAdmin(StudyRecordAdmin):
    """Exclude an attempt, or lift that again: each is a new record that points at the one before."""

    form = ExclusionForm
    list_display = ["study", "attempt", "lifted", "reason", "author", "recorded_at"]
    list_filter = ["study", "lifted"]
    autocomplete_fields = ["attempt"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    def get_fields(self, request: HttpRequest, obj: Exclusion | None = None) -> Any:
        return ["study", "attempt", "lifted", "reason", "author", "supersedes"] if obj else [
            "attempt", "lifted", "reason",
        ]  # fmt: skip

    def save_model(self, request: HttpRequest, obj: Exclusion, form: Any, change: bool) -> None:
        values = form.cleaned_data
        act = lift if values["lifted"] else exclude
        row, _ = act(values["attempt"], reason=values["reason"], author=request.user.get_username())
        obj.pk, obj.study, obj.author = row.pk, row.study, row.author


@admin.register(Attempt)
class AttemptAdmin(StudyRecordAdmin):
    """Adding one is correcting one: a new entry that supersedes a wrong one."""

    list_display = [
        "invocation_id",
        "study",
        "slot",
        "outcome",
        "origin",
        "diagnosis",
        "peak_mib",
        "recorded_at",
    ]
    list_filter = ["study", "outcome", "origin"]
    search_fields = ["invocation_id", "job_id"]
    readonly_fields = ["correction"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    @admin.display(description="corrected entry")
    def correction(self, attempt: Attempt) -> str:
        later = Attempt.objects.filter(supersedes=attempt).first()
        if later is None:
            add = reverse("admin:studies_attempt_add", query={"supersedes": attempt.pk})
            return format_html('<a href="{}">Supersede</a>', add)
        return format_html(
            '<a href="{}">{}</a>, because {}',
            reverse("admin:studies_attempt_change", args=[later.pk]), later, later.supersedes_reason,
        )  # fmt: skip

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = CorrectionForm(request.POST or None, initial={"supersedes": request.GET.get("supersedes")})
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data
            try:
                attempt = correct_attempt(
                    values["supersedes"], invocation_id=values["invocation_id"], declared=form.declared(),
                    reason=values["supersedes_reason"],
                )  # fmt: skip
            except UploadRefused as error:
                for problem in error.problems:
                    form.add_error(problem.field if problem.field in form.fields else None, problem.message)
            else:
                messages.success(request, f"Recorded: {attempt} supersedes {values['supersedes']}.")
                return HttpResponseRedirect(reverse("admin:studies_attempt_change", args=[attempt.pk]))
        context = {
            **self.admin_site.each_context(request), "title": "Record a corrected entry",
            "opts": Attempt._meta, "form": form, "media": self.media + form.media,
        }  # fmt: skip
        return render(request, "admin/correction_add.html", context)


class PlainAdmin(RecordAdmin):
    """For the tables that are no ledger: they have no moment of recording."""

    list_display = ["__str__"]


@admin.register(Host)
class HostAdmin(PlainAdmin):
    """Hosts, and letting another key have one; the admin's own log keeps who did that."""

    list_display = ["name", "hostname", "holder", "last_seen_at"]
    actions = ["release"]

    @admin.action(description="Release: the next key that registers it has it", permissions=["release"])
    def release(self, request: HttpRequest, queryset: QuerySet[Host]) -> None:
        for host in queryset:
            release(host)
            self.log_change(request, host, "Released: the next key that registers it has it.")
        self.message_user(request, "The chosen hosts are released.", messages.SUCCESS)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)


@admin.register(EvidenceQuota)
class EvidenceQuotaAdmin(PlainAdmin):
    """Studies that may have more or less evidence than the setting says; the admin keeps who said so."""

    list_display = ["study", "limit_mib"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_staff(request.user)

    def has_change_permission(self, request: HttpRequest, obj: EvidenceQuota | None = None) -> bool:
        return is_staff(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: EvidenceQuota | None = None) -> bool:
        return is_staff(request.user)


for model in apps.get_app_config("studies").get_models():
    if not admin.site.is_registered(model):
        admin.site.register(model, StudyRecordAdmin if issubclass(model, LedgerRecord) else PlainAdmin)
