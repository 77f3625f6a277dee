"""Evidence files: bytes by their sha256, files of an attempt, exclusions and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import IO

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import quote_etag
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict, OverQuota, TooLarge, Unmet
from rlvram_site.api.etags import matches
from rlvram_site.api.keys import ApiKey, Scope
from rlvram_site.api.parsers import RawParser, announced_length, raw_chunks
from rlvram_site.api.ranges import wanted_range
from studies.api.entries import entries_of
from studies.api.filters import EventFilter, ExclusionFilter
from studies.api.serializers.beginnings import EventsUploadSerializer
from studies.api.serializers.outcomes import (
    BlobSerializer,
    EventSerializer,
    EventsSerializer,
    EvidenceFileSerializer,
    EvidenceFilesSerializer,
    EvidenceSummarySerializer,
    ExclusionSerializer,
)
from studies.api.serializers.uploads import ExclusionUploadSerializer, LateFilesSerializer
from studies.api.views.base import StudyTable, StudyView
from studies.api.views.beginnings import added
from studies.models import Attempt, Event, EvidenceFile, Exclusion, Study
from studies.services.outcomes.corrections import ExclusionConflict, exclude, lift
from studies.services.outcomes.evidence_bytes import QuotaExceeded, known_sizes, take_bytes, usage
from studies.services.outcomes.evidence_checks import EvidenceUnavailable, open_whole, standing
from studies.services.outcomes.evidence_files import FileConflict, add_late_files
from studies.services.outcomes.evidence_store import EvidenceTooLarge, WrongHash
from studies.services.outcomes.surroundings import add_events

_CHUNK = 1 << 20


class EvidenceBytes(StudyView):
    """The bytes of one file, by their sha256. Send them once; sending them again changes nothing."""

    write_scope = Scope.ATTEMPTS
    parser_classes = [RawParser]
    serializer_class = BlobSerializer

    @extend_schema(
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: BlobSerializer, 200: BlobSerializer},
    )
    def put(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sha256 = self.kwargs["sha256"]
        wanted = request.headers.get("If-None-Match", "")
        if wanted and matches(wanted, quote_etag(sha256)) and known_sizes(self.study, [sha256]):
            raise Unmet("The bytes are here already, and If-None-Match asked for a new record.")
        if not announced_length(request):
            raise ValidationError({"body": ["is empty or has no Content-Length, expected the file's bytes"]})
        try:
            kept, new = take_bytes(self.study, raw_chunks(request), sha256, announced_sha256=sha256)
        except WrongHash as error:
            raise ValidationError({"sha256": [str(error)]}) from error
        except EvidenceTooLarge as error:
            raise TooLarge(str(error)) from error
        except QuotaExceeded as error:
            raise OverQuota(str(error)) from error
        return Response(BlobSerializer(kept).data, status=201 if new else 200)

    @extend_schema(
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            (206, "application/octet-stream"): OpenApiTypes.BINARY,
            416: None,
        }
    )
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sha256 = self.kwargs["sha256"]
        size = known_sizes(self.study, [sha256]).get(sha256)
        if size is None:
            raise NotFound(f"There are no bytes with the sha256 {sha256} here.")
        headers = {
            # Whatever the bytes are, a browser must neither run nor render them.
            "Content-Disposition": f'attachment; filename="{sha256}"',
            "ETag": quote_etag(sha256), "Accept-Ranges": "bytes", "Cache-Control": "private, no-cache",
        }  # fmt: skip
        if matches(request.headers.get("If-None-Match", ""), headers["ETag"]):
            return HttpResponse(status=304, headers=headers)
        try:
            source = open_whole(sha256)
        except EvidenceUnavailable as error:
            # A client that finds them absent sends them again, and then they are whole.
            raise NotFound(f"{str(error).capitalize()}.", code=f"evidence_{error.state}") from error
        if_range = request.headers.get("If-Range", headers["ETag"])
        span = wanted_range(request.headers.get("Range", ""), size) if if_range == headers["ETag"] else None
        if span is not None and not span:
            headers["Content-Range"] = f"bytes */{size}"
            source.close()
            return HttpResponse(status=416, headers=headers)
        if span:
            headers["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
        asked = range(size) if span is None else span
        headers["Content-Length"] = str(len(asked))
        if request.method == "HEAD":
            source.close()
        return StreamingHttpResponse(
            [] if request.method == "HEAD" else _bytes(source, asked),
            status=200 if span is None else 206, content_type="application/octet-stream", headers=headers,
        )  # fmt: skip


def _bytes(source: IO[bytes], asked: range) -> Iterator[bytes]:
    with source:
        source.seek(asked.start)
        left = len(asked)
        while left and (chunk := source.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk


class EvidenceSummary(StudyView):
    """How much evidence the study has and may have, and how it was found when it was last checked."""

    serializer_class = EvidenceSummarySerializer

    @extend_schema(operation_id="studies_evidence_summary")
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        used, found = usage(self.study), standing(self.study.pk)
        return Response(EvidenceSummarySerializer({**asdict(used), **asdict(found)}).data)


class AttemptFiles(StudyTable):
    """The files of one attempt. Writing attaches more; the outcome stays what it was."""

    serializer_class = EvidenceFileSerializer
    csv_name = "files"
    write_scope = Scope.ATTEMPTS

    queryset = EvidenceFile.objects.with_bytes_recorded()

    def get_queryset(self) -> QuerySet[EvidenceFile]:
        return super().get_queryset().filter(attempt=_attempt(self.study, self.kwargs["invocation"]))

    @extend_schema(
        request=LateFilesSerializer,
        responses={201: EvidenceFilesSerializer, 200: EvidenceFilesSerializer},
        filters=False,
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        attempt = _attempt(self.study, self.kwargs["invocation"])
        sent = LateFilesSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        try:
            result = add_late_files(attempt, entries_of(self.study, sent.validated_data["files"]))
        except FileConflict as error:
            raise Conflict(str(error)) from error
        status = 201 if any(new for _, new in result) else 200
        rows = self.get_serializer([row for row, _ in result], many=True).data
        return Response({"files": rows}, status=status)


class ExclusionList(StudyTable):
    """Exclusions and liftings, each a record of its own. Writing excludes an attempt or lifts that again."""

    serializer_class = ExclusionSerializer
    filterset_class = ExclusionFilter
    csv_name = "exclusions"
    write_scope = Scope.EXCLUSIONS

    queryset = Exclusion.objects.select_related("attempt")

    @extend_schema(
        request=ExclusionUploadSerializer, responses={201: ExclusionSerializer, 200: ExclusionSerializer},
        filters=False,
    )  # fmt: skip
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sent = ExclusionUploadSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values = sent.validated_data
        attempt = Attempt.objects.filter(study=self.study, invocation_id=values["attempt"]).first()
        if attempt is None:
            raise ValidationError({"attempt": [f"is no attempt of the study {self.study.slug}"]})
        author = request.auth.actor if isinstance(request.auth, ApiKey) else request.user.get_username()
        try:
            row, new = (lift if values["lift"] else exclude)(attempt, reason=values["reason"], author=author)
        except ExclusionConflict as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(row).data, status=201 if new else 200)


class EventList(StudyTable):
    """What happened around the invocations."""

    serializer_class = EventSerializer
    filterset_class = EventFilter
    orderings = {"position": "position", "id": "pk"}
    csv_name = "events"
    write_scope = Scope.ATTEMPTS

    queryset = Event.objects.all()

    @extend_schema(
        request=EventsUploadSerializer, responses={201: EventsSerializer, 200: EventsSerializer},
        filters=False,
    )  # fmt: skip
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return added(self, request, "events", EventsUploadSerializer, add_events)


def _attempt(study: Study, invocation: str) -> Attempt:
    attempt = Attempt.objects.filter(study=study, invocation_id=invocation).select_related("study").first()
    if attempt is None:
        raise NotFound(f"There is no attempt {invocation!r} here.")
    return attempt
