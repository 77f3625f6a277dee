"""Predictions, seals, evaluations."""

from __future__ import annotations

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import Scope
from studies.api.filters import EvaluationFilter, PredictionFilter, PredictionSetFilter
from studies.api.serializers.predictions import (
    EvaluationRequestSerializer,
    EvaluationSerializer,
    PredictionSerializer,
    PredictionSetSerializer,
    SealSerializer,
)
from studies.api.views.base import StudyTable
from studies.estimation.errors import EstimationError
from studies.models import Evaluation, Prediction, PredictionSet, Seal
from studies.services.errors import ServiceError
from studies.services.scores.evaluation import record_evaluation


class PredictionSetList(StudyTable):
    """The panel's prediction set, those of the held-out families, and those of methods in development."""

    serializer_class = PredictionSetSerializer
    filterset_class = PredictionSetFilter
    csv_name = "prediction-sets"

    queryset = PredictionSet.objects.all()


class PredictionList(StudyTable):
    """Every method's prediction for every target."""

    serializer_class = PredictionSerializer
    filterset_class = PredictionFilter
    csv_name = "predictions"

    queryset = Prediction.objects.select_related("prediction_set", "configuration", "donor")


class SealList(StudyTable):
    """Seals: what was bound by hash, and when."""

    serializer_class = SealSerializer
    csv_name = "seals"

    queryset = Seal.objects.select_related("study")


class EvaluationList(StudyTable):
    """Recorded evaluations. Writing evaluates a prediction set on what is recorded now."""

    serializer_class = EvaluationSerializer
    filterset_class = EvaluationFilter
    csv_name = "evaluations"
    write_scope = Scope.EVALUATIONS

    queryset = Evaluation.objects.select_related("prediction_set")

    @extend_schema(
        request=EvaluationRequestSerializer, responses={201: EvaluationSerializer, 200: EvaluationSerializer},
        filters=False,
    )  # fmt: skip
    def post(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        sent = EvaluationRequestSerializer(data=request.data)
        sent.is_valid(raise_exception=True)
        pk = sent.validated_data["prediction_set"]
        found = PredictionSet.objects.filter(study=self.study, pk=pk).select_related("study").first()
        if found is None:
            raise ValidationError(
                {"prediction_set": [f"is no prediction set of the study {self.study.slug}"]}
            )
        try:
            evaluation, new = record_evaluation(found)
        except (ServiceError, EstimationError) as error:
            raise Conflict(str(error)) from error
        return Response(self.get_serializer(evaluation).data, status=201 if new else 200)
