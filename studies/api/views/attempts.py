"""Attempts: reading them, and recording them one by one or many at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponseBase, QueryDict
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import OverQuota, TooLarge
from rlvram_site.api.keys import Scope
from rlvram_site.api.parsers import DEEPEST, BoundedJSONParser, BoundedMultiPartParser
from rlvram_site.api.permissions import scopes_of
from rlvram_site.strict_json import JsonError, read_json
from studies.api.entries import FORM_FILES, entries_of, file_entry
from studies.api.filters import AttemptFilter
from studies.api.serializers.outcomes import (
    AttemptDetailSerializer,
    AttemptSerializer,
    BatchResultSerializer,
    ReceiptSerializer,
    VerdictSerializer,
)
from studies.api.serializers.uploads import (
    AttemptFormSerializer,
    AttemptUploadSerializer,
    BatchUploadSerializer,
)
from studies.api.views.base import StudyDetail, StudyTable, StudyView, refuse
from studies.models import Attempt, SlotProjection
from studies.services.errors import UploadRefused
from studies.services.outcomes.attempts import AttemptUpload, FileEntry, record_attempts
from studies.services.outcomes.evidence_bytes import QuotaExceeded, take_bytes
from studies.services.outcomes.evidence_files import files_of_attempt, not_read
from studies.services.outcomes.evidence_store import EvidenceTooLarge
from studies.services.outcomes.slots import attempt_states, slot_states
from studies.services.outcomes.verdict import verdict_of
from studies.text.verdicts import verdict_sentence

_CHUNK = 1 << 20
_PARTS = ", ".join(FORM_FILES)


_checkers = threading.local()


def _checker() -> AttemptUploadSerializer:
    """One for each thread: to make its fields anew for each record costs more than to check the record."""
    if not hasattr(_checkers, "single"):
        _checkers.single = AttemptUploadSerializer()
    return _checkers.single


class _States:
    """Gives the serializers what each attempt is to its slot."""

    attempts: dict[int, Any] = {}

    def prepare(self, rows: Sequence[Any]) -> None:
        self.attempts = attempt_states(rows)

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "attempts": self.attempts}  # type: ignore[misc]


class AttemptList(_States, StudyTable):
    """Every recorded invocation. Writing adds one, as JSON or as a form with its files."""

    serializer_class = AttemptSerializer
    filterset_class = AttemptFilter
    orderings = {"id": "pk", "invocation_id": "invocation_id"}
    csv_name = "attempts"
    write_scope = Scope.ATTEMPTS
    parser_classes = [BoundedJSONParser, BoundedMultiPartParser]

    queryset = Attempt.objects.select_related("slot")

    @extend_schema(
        request={"application/json": AttemptUploadSerializer, "multipart/form-data": AttemptFormSerializer},
        responses={201: ReceiptSerializer, 200: ReceiptSerializer},
        filters=False,
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        study = self.study
        uploaded = list(_uploaded(request))
        data = _record_of(request.data) if isinstance(request.data, QueryDict) else request.data
        values = dict(_checker().run_validation(data))
        _may_declare(request, values, files=bool(uploaded))
        _may_supersede(request, values)
        try:
            files = [
                *entries_of(study, values.pop("files", [])),
                *(_keep(study, kind, item) for kind, item in uploaded),
            ]
            recorded = record_attempts(study, [AttemptUpload(values, _distinct(files))])[0]
        except UploadRefused as error:
            raise refuse(error) from error
        except EvidenceTooLarge as error:
            raise TooLarge(str(error)) from error
        except QuotaExceeded as error:
            raise OverQuota(str(error)) from error
        row = recorded.row or self.get_queryset().get(pk=recorded.attempt_id)
        receipt = _receipt(row, recorded.new) | {
            "page": request.build_absolute_uri(reverse("attempt", args=[study.slug, row.invocation_id])),
            "not_read": [{"file": name, "reason": reason} for name, reason in not_read(files)],
        }
        return Response(receipt, status=201 if recorded.new else 200)


def _receipt(row: Attempt, new: bool) -> dict[str, Any]:
    """What ``ReceiptSerializer`` documents, from the row as it stands."""
    same = ReceiptSerializer.SAME
    role, one_more = _place_in_slot(row)
    return {
        "status": "recorded" if new else "unchanged",
        "slot": row.slot_name if row.slot_id is not None else None,
        "supersedes": row.supersedes.invocation_id if row.supersedes is not None else None,
        "problems": (row.derivation or {}).get("problems", []),
        "role": role,
        "one_more_may_count": one_more,
        **{name: getattr(row, name) for name in same},
    }


def _place_in_slot(row: Attempt) -> tuple[str, bool | None]:
    """What the attempt is to its slot, and whether one more may count there; None without a slot."""
    if row.slot_id is None:
        return str(attempt_states([row])[row.pk].role), None
    projected = SlotProjection.objects.filter(slot=row.slot_id).only("attempts", "one_more_may_count").first()
    roles = dict(projected.attempts) if projected else {}
    if projected and row.pk in roles:
        return roles[row.pk], projected.one_more_may_count
    assert row.slot is not None
    held = slot_states([row.slot])[row.slot_id]  # a study whose rules can't be read has no projections
    return str(held.role_of(row)), held.one_more_may_count


class AttemptBatch(StudyView):
    """Many attempts in one request: all are recorded, or none."""

    write_scope = Scope.ATTEMPTS
    serializer_class = BatchUploadSerializer

    @extend_schema(
        request=BatchUploadSerializer, responses={201: BatchResultSerializer, 200: BatchResultSerializer}
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        study = self.study
        rows = request.data.get("attempts") if isinstance(request.data, dict) else None
        if isinstance(rows, list) and len(rows) > settings.API_MAX_BATCH:
            raise ValidationError(
                {
                    "attempts": [
                        f"has {len(rows)} rows, expected at most {settings.API_MAX_BATCH} in one request"
                    ]
                }
            )
        sent = BatchUploadSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        uploads = []
        for item in sent.validated_data["attempts"]:
            values = dict(item)
            _may_declare(request, values)
            _may_supersede(request, values)
            uploads.append(AttemptUpload(values, entries_of(study, values.pop("files", []))))
        try:
            recorded = record_attempts(study, uploads)
        except UploadRefused as error:
            raise refuse(error, "attempts", len(uploads)) from error
        new = sum(item.new for item in recorded)
        return Response(
            {
                "recorded": new,
                "unchanged": len(recorded) - new,
                "attempts": [
                    {"invocation_id": item.invocation_id, "status": "recorded" if item.new else "unchanged"}
                    for item in recorded
                ],
            },
            status=201 if new else 200,
        )


class AttemptDetail(_States, StudyDetail):
    """One invocation with its evidence."""

    serializer_class = AttemptDetailSerializer

    def find(self) -> Attempt:
        rows = Attempt.objects.filter(study=self.study).prefetch_related(files_of_attempt())
        rows = rows.select_related("slot__configuration")
        row = rows.filter(invocation_id=self.kwargs["invocation"]).first()
        if row is None:
            raise NotFound(f"There is no attempt {self.kwargs['invocation']!r} here.")
        self.prepare([row])
        return row


class AttemptVerdict(AttemptDetail):
    """What the invocation means: its state, and whether it is worse than predicted or than before."""

    serializer_class = VerdictSerializer  # type: ignore[assignment]

    def find(self) -> Any:
        verdict = verdict_of(super().find())
        before = verdict.before and {"state": verdict.before[0], "invocation_id": verdict.before[1]}
        return {
            "invocation_id": verdict.attempt.invocation_id, "state": verdict.state,
            "findings": verdict.findings, "sentence": verdict_sentence(verdict),
            "peak_mib": verdict.attempt.peak_mib, "margin_mib": verdict.margin_mib,
            "predicted": verdict.predicted, "before": before,
        }  # fmt: skip


def _may_declare(request: Request, values: dict[str, Any], *, files: bool = False) -> None:
    if "declared" not in values:
        return
    if Scope.DECLARE not in scopes_of(request):
        raise PermissionDenied(
            "Declaring an outcome needs the scope declare, which the key or role does not have."
        )
    if files or any(not item.get("private") for item in values.get("files", [])):
        raise ValidationError({"files": ["expected only private files (by hash) with a declared outcome"]})


def _may_supersede(request: Request, values: dict[str, Any]) -> None:
    if "supersedes" in values and Scope.EXCLUSIONS not in scopes_of(request):
        raise PermissionDenied(
            "Superseding a wrong entry needs the scope exclusions, which the key or role does not have."
        )


def _record_of(form: QueryDict) -> Any:
    """The record of a form: JSON in ``attempt``, and further fields beside it."""
    record: Any = {}
    if "attempt" in form:
        text: Any = form["attempt"]
        if isinstance(text, UploadedFile):
            text = text.read(settings.API_MAX_JSON_BYTES + 1)
        try:
            record = read_json(text, max_bytes=settings.API_MAX_JSON_BYTES, max_depth=DEEPEST)
        except JsonError as error:
            raise ValidationError({"attempt": [f"is not JSON: {error}"]}) from error
        if not isinstance(record, dict):
            raise ValidationError({"attempt": ["expected a JSON object"]})
    for name, sent in form.lists():
        if any(isinstance(item, UploadedFile) for item in sent) and name != "attempt":
            continue
        if len(sent) > 1:
            raise ValidationError({name: [f"stands in the form {len(sent)} times, expected it once"]})
        if name == "attempt":
            continue
        if name in record:
            raise ValidationError({name: ["stands in the form and in attempt, expected it once"]})
        record[name] = form[name]
    return record


def _uploaded(request: Request) -> Iterator[tuple[str, UploadedFile]]:
    """The files of a form: what their part says they are (empty: their name says it), and the file."""
    if not isinstance(request.data, QueryDict):
        return
    for part, items in request.FILES.lists():
        if part == "attempt":
            continue
        if part not in FORM_FILES:
            raise ValidationError({part[:60]: [f"is no part for files, expected one of {_PARTS}"]})
        for item in items:
            yield ("" if part == "files" else part), item


def _keep(study: Any, kind: str, item: UploadedFile) -> FileEntry:
    name = item.name or "file"
    kept, _ = take_bytes(study, item.chunks(_CHUNK), name)
    return file_entry(name, kind, kept.sha256, kept.size_bytes, stored=True)


def _distinct(files: list[FileEntry]) -> list[FileEntry]:
    names = [item.name for item in files]
    for name in names:
        if names.count(name) > 1:
            raise ValidationError({"files": [f"{name} comes twice, expected each file name once"]})
    return files
