"""Will it fit? Answers of a study's methods for programs. Nothing is recorded, so reading is all it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.keys import Scope
from rlvram_site.api.tables import CsvRenderer, JsonErrors
from rlvram_site.csv_download import csv_response
from studies.api.serializers.questions import GridQuestionSerializer, QuestionSerializer
from studies.estimation.errors import EstimationError
from studies.services.errors import UNREADABLE, ServiceError
from studies.services.questions.asking import ask, ask_grid
from studies.services.questions.documents import GRID_COLUMNS, answer_document, grid_document, grid_rows
from studies.services.questions.reading import read_grid, read_question, study_of


class _Question(JsonErrors):
    study_in_document = True

    def required_scope(self, request: Request) -> Scope:
        return Scope.READ

    def sent(self, request: Request) -> dict[str, Any]:
        sent = self.get_serializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return dict(sent.validated_data)


class Predict(_Question):
    """What each method says of one setting, why, and what would have to change."""

    serializer_class = QuestionSerializer

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def post(self, request: Request) -> Response:
        document = self.sent(request)
        try:
            study = study_of(document)
            return Response(answer_document(study, ask(study, read_question(study, document))))
        except UNREADABLE as error:
            raise _refused(error) from error


class PredictGrid(_Question):
    """The same question for models × GPU counts × reservations, as JSON or as CSV."""

    serializer_class = GridQuestionSerializer
    renderer_classes: Sequence[type[BaseRenderer]] = [JSONRenderer, CsvRenderer]

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT, (200, "text/csv"): str})
    def post(self, request: Request) -> HttpResponseBase:
        document = self.sent(request)
        try:
            study = study_of(document)
            question = read_question(study, document)
            settings, cells = ask_grid(study, question, read_grid(study, question, document))
        except UNREADABLE as error:
            raise _refused(error) from error
        if request.accepted_renderer.format == "csv":
            return csv_response("predictions", GRID_COLUMNS, grid_rows(cells))
        return Response(grid_document(study, settings, cells))


def _refused(error: Exception) -> ValidationError:
    if isinstance(error, EstimationError):
        return ValidationError({error.field: [str(error)]})
    field = "study" if isinstance(error, ServiceError) else "question"
    return ValidationError({field: [str(error)]})
