"""The transfer suite under ``/api/v1/transfer/``: inputs, scoring, and recorded submissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import django_filters as filters
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.urls import include, path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import ApiKey, Scope
from rlvram_site.api.parsers import BoundedJSONParser, BoundedMultiPartParser
from rlvram_site.api.tables import ConditionalView, RecordTable
from studies.api.fields import StrictSerializer
from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label
from studies.models import Pool, TransferScore, TransferSubmission
from studies.models.transfer import SELECTIONS, TRACKS
from studies.services.errors import ServiceError
from studies.services.transfer.results import reference_side
from studies.services.transfer.submissions import (
    LIMITS,
    DifferentSubmission,
    load_suite,
    pools_with_suite,
    score_document,
    scores_of_track,
    submit,
)
from studies.transfer.inputs import inputs_document, task_document
from studies.transfer.scoring import COUNTS, score_suite
from studies.transfer.submission import MAX_BYTES, SubmissionError, SubmittedRow, check, parse_rows, rows_of
from studies.transfer.suite import Suite


class SuiteSerializer(serializers.Serializer):
    """One pool's suite in numbers, with the reference's scores."""

    pool = serializers.CharField()
    queries = serializers.IntegerField()
    tasks = serializers.ListField(child=serializers.CharField())
    tracks = serializers.ListField(child=serializers.CharField())
    distinct_target_configurations = serializers.IntegerField()
    configurations = serializers.IntegerField()
    reference = serializers.JSONField(help_text="The reference's scores: overall, per_track, per_task")


class ScoreRequestSerializer(StrictSerializer):
    """Predictions as a list, or in a form as a ``file`` (CSV or JSON)."""

    track = serializers.ChoiceField(choices=SELECTIONS)
    predictions = serializers.JSONField(required=False, help_text="A list of query_id and predicted_state")
    file = serializers.FileField(required=False)


class SubmissionRequestSerializer(ScoreRequestSerializer):
    """Predictions with what is needed to record them."""

    name = serializers.CharField(max_length=LIMITS["name"])
    version = serializers.CharField(max_length=LIMITS["version"])
    declaration = serializers.CharField(
        max_length=LIMITS["declaration"], help_text="Extra measurements used; none says so"
    )


class SubmissionSerializer(serializers.ModelSerializer):
    """A recorded submission with its scores and predictions."""

    pool = serializers.CharField(source="pool.slug")
    selected_track = serializers.CharField()
    address = serializers.CharField(source="get_absolute_url")
    scores = serializers.SerializerMethodField()
    predictions = serializers.JSONField(source="predictions.labels")

    class Meta:
        model = TransferSubmission
        fields = ["content_sha256", "pool", "selected_track", "name", "version", "declaration", "author",
                  "recorded_at", "address", "scores", "predictions"]  # fmt: skip

    def get_scores(self, row: TransferSubmission) -> dict[str, Any]:
        return score_document(row)


class TrackScoreSerializer(serializers.ModelSerializer):
    """One submission's counts on one track."""

    content_sha256 = serializers.CharField(source="submission.content_sha256")
    name = serializers.CharField(source="submission.name")
    version = serializers.CharField(source="submission.version")
    author = serializers.CharField(source="submission.author")
    declaration = serializers.CharField(source="submission.declaration")
    track = serializers.CharField(source="scope")

    class Meta:
        model = TransferScore
        fields = ["id", "content_sha256", "name", "version", "author", "declaration", "track", *COUNTS,
                  "recorded_at"]  # fmt: skip


class TrackScoreFilter(filters.FilterSet):
    track = filters.ChoiceFilter(field_name="scope", choices=TRACKS)
    name = filters.CharFilter(field_name="submission__name")

    class Meta:
        model = TransferScore
        fields: list[str] = []


class SuiteView(ConditionalView):
    """One suite of the address. Scoring is a kind of reading; recording needs the scope ``evaluations``."""

    write_scope: Scope | None = None

    def required_scope(self, request: Request) -> Scope | None:
        return self.write_scope

    @property
    def pool(self) -> Pool:
        """The pool of the address, or 404."""
        if not hasattr(self, "_pool"):
            found = pools_with_suite().filter(slug=self.kwargs["pool"]).first()
            if found is None:
                raise NotFound(f"There is no pool {self.kwargs['pool']!r} with a transfer suite.")
            self._pool = found
        return self._pool

    @property
    def suite(self) -> Suite:
        return load_suite(self.pool)

    def etag_streams(self) -> Iterable[str]:
        return [self.pool.stream]

    def checked(
        self, request: Request, serializer: type[ScoreRequestSerializer]
    ) -> tuple[dict[str, Any], dict[str, Label]]:
        """The request's fields, and its predictions as labels by query id."""
        sent = serializer(data=request.data)
        sent.is_valid(raise_exception=True)
        values = dict(sent.validated_data)
        try:
            return values, check(self.suite, _rows(values), values["track"])
        except SubmissionError as error:
            raise ValidationError({"predictions": [str(problem) for problem in error.problems]}) from error


def _rows(values: dict[str, Any]) -> list[SubmittedRow]:
    file: UploadedFile | None = values.get("file")
    if (file is None) == ("predictions" not in values):
        raise ValidationError({"predictions": ["expected either predictions or a file, and one of them"]})
    return rows_of(values["predictions"]) if file is None else parse_rows(file.read(MAX_BYTES + 1))


class SuiteList(ConditionalView):
    """The pools that have a transfer suite."""

    queryset = Pool.objects.all()
    serializer_class = SuiteSerializer

    def etag_streams(self) -> Iterable[str]:
        return [pool.stream for pool in pools_with_suite()]

    @extend_schema(responses=SuiteSerializer(many=True))
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return self.conditional(request) or Response([_summary(pool) for pool in pools_with_suite()])


class SuiteDetail(SuiteView):
    """One suite in numbers, with the reference's scores."""

    serializer_class = SuiteSerializer

    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return self.conditional(request) or Response(_summary(self.pool))


def _summary(pool: Pool) -> dict[str, Any]:
    suite = load_suite(pool)
    return {
        "pool": pool.slug,
        "queries": len(suite.queries),
        "tasks": list(suite.tasks),
        "tracks": [track.value for track in suite.tracks],
        "distinct_target_configurations": len(suite.target_ids),
        "configurations": len(suite.used_ids),
        "reference": reference_side(suite).document,
    }


class SuiteInputs(SuiteView):
    """The inputs of one track or of all: tasks that are each complete alone, without any target's outcome."""

    serializer_class = serializers.Serializer

    @extend_schema(
        parameters=[OpenApiParameter("track", enum=[name for name, _ in SELECTIONS], required=True)],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        try:
            document = inputs_document(self.suite, request.query_params.get("track", ""))
        except EstimationError as error:
            raise ValidationError({"track": [f"is {error.value!r}, expected {error.expected}"]}) from error
        return self.conditional(request) or Response(document)


class TaskInputs(SuiteView):
    """The inputs of one task alone."""

    serializer_class = serializers.Serializer

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        try:
            document = task_document(self.suite, self.kwargs["task"])
        except EstimationError as error:
            raise NotFound(str(error)) from error
        return self.conditional(request) or Response(document)


class SuiteScore(SuiteView):
    """Score predictions; nothing is recorded."""

    write_scope = Scope.READ
    serializer_class = ScoreRequestSerializer
    parser_classes = [BoundedJSONParser, BoundedMultiPartParser]

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        values, predictions = self.checked(request, ScoreRequestSerializer)
        return Response(score_suite(self.suite, predictions, values["track"]))


class SubmissionList(SuiteView, RecordTable):
    """Recorded submissions by track, each with its counts there. Writing records one with its scores."""

    queryset = TransferScore.objects.all()
    write_scope = Scope.EVALUATIONS
    serializer_class = TrackScoreSerializer
    filterset_class = TrackScoreFilter
    parser_classes = [BoundedJSONParser, BoundedMultiPartParser]
    csv_name = "transfer-submissions"

    def etag_streams(self) -> Iterable[str]:
        return [self.pool.stream, f"transfer/{self.pool.slug}"]

    def get_queryset(self) -> QuerySet[TransferScore]:
        track = self.request.query_params.get("track", "")
        if track not in dict(TRACKS):
            raise ValidationError(
                {
                    "track": [
                        f"is {track[:60]!r}, expected one of {', '.join(dict(TRACKS))}; tracks are not pooled"
                    ]
                }
            )
        return scores_of_track(self.pool, track)

    @extend_schema(
        request={
            "application/json": SubmissionRequestSerializer,
            "multipart/form-data": SubmissionRequestSerializer,
        },
        responses={201: SubmissionSerializer, 200: SubmissionSerializer},
        filters=False,
    )
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        values, predictions = self.checked(request, SubmissionRequestSerializer)
        author = request.auth.actor if isinstance(request.auth, ApiKey) else request.user.get_username()
        try:
            row, new = submit(
                self.pool, values["track"], predictions, author=author, name=values["name"],
                version=values["version"], declaration=values["declaration"],
            )  # fmt: skip
        except DifferentSubmission as error:
            raise Conflict(str(error)) from error
        except ServiceError as error:
            raise ValidationError([str(error)]) from error
        return Response(SubmissionSerializer(row).data, status=201 if new else 200)


class SubmissionDetail(SuiteView):
    """One recorded submission."""

    serializer_class = SubmissionSerializer

    def etag_streams(self) -> Iterable[str]:
        return [f"transfer/{self.pool.slug}"]

    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        rows = TransferSubmission.objects.filter(pool=self.pool).select_related("pool", "predictions")
        row = rows.filter(content_sha256=self.kwargs["digest"]).first()
        if row is None:
            raise NotFound(f"There is no submission {self.kwargs['digest']!r}.")
        return self.conditional(request) or Response(SubmissionSerializer(row).data)


suite_patterns = [
    path("", SuiteDetail.as_view(), name="api-transfer-suite"),
    path("inputs/", SuiteInputs.as_view(), name="api-transfer-inputs"),
    path("tasks/<str:task>/inputs/", TaskInputs.as_view(), name="api-transfer-task-inputs"),
    path("score/", SuiteScore.as_view(), name="api-transfer-score"),
    path("submissions/", SubmissionList.as_view(), name="api-transfer-submissions"),
    path("submissions/<slug:digest>/", SubmissionDetail.as_view(), name="api-transfer-submission"),
]

urlpatterns = [
    path("", SuiteList.as_view(), name="api-transfer"),
    path("<slug:pool>/", include(suite_patterns)),
]
