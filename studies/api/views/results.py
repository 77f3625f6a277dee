"""What became of a study, as JSON and CSV: flat configurations, confusion counts, fits, pairs, costs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.tables import CsvRenderer
from rlvram_site.csv_download import csv_response
from studies.api.filters import ConfigurationFilter
from studies.api.serializers.results import (
    ConfusionSerializer,
    CostSerializer,
    FitSerializer,
    FlatConfigurationSerializer,
    PairSerializer,
)
from studies.api.views.base import StudyTable, StudyView
from studies.models import Configuration, FittedModel, Study
from studies.services.errors import UNREADABLE
from studies.services.scores.flat import confusion_rows, cost_rows, flat_cells, pair_rows
from studies.services.scores.panel import load_panel


class FlatConfigurations(StudyTable):
    """Each planned configuration in one row: settings, what was observed, and every method's prediction."""

    serializer_class = FlatConfigurationSerializer
    filterset_class = ConfigurationFilter
    orderings = {"configuration_id": "configuration_id", "id": "pk"}
    csv_name = "configurations-flat"

    queryset = Configuration.objects.all()

    def etag_streams(self) -> Iterable[str]:
        return _streams(self.study)

    def prepare(self, rows: Sequence[Configuration]) -> None:
        try:
            panel = load_panel(self.study, only=rows)
        except UNREADABLE as error:
            raise NotFound(str(error)) from error
        self.flat = {row.configuration.pk: flat_cells(row) for row in panel.rows}

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "flat": getattr(self, "flat", {})}

    def csv_header(self) -> Sequence[str]:
        self.prepare(list(self.get_queryset().order_by("pk")[:1]))
        return [*super().csv_header(), *next(iter(self.flat.values()), {})]


class FitList(StudyTable):
    """Learned parameters of every recorded fit, with the libraries that made it."""

    serializer_class = FitSerializer
    csv_name = "fits"

    queryset = FittedModel.objects.prefetch_related("prediction_sets")


class _Computed(StudyView, GenericAPIView):
    """A short table that is computed as a whole."""

    renderer_classes: Sequence[type[BaseRenderer]] = [JSONRenderer, CsvRenderer]
    csv_name: ClassVar[str]
    # No rows of a table: the schema would look for filters and pages of them.
    queryset = Study.objects.none()
    filter_backends = ()
    pagination_class = None

    @abstractmethod
    def rows(self) -> Iterable[dict[str, Any]]:
        """The rows. Raises ``ServiceError`` or ``EstimationError`` where there are none yet."""

    def etag_streams(self) -> Iterable[str]:
        return _streams(self.study)

    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        for name in request.query_params:
            if name != "format":
                raise ValidationError({name[:60]: "is no parameter of this table, expected format"})
        unchanged = self.conditional(request)
        if unchanged is not None:
            return unchanged
        try:
            rows = list(self.rows())
        except UNREADABLE as error:
            raise NotFound(str(error)) from error
        serializer = self.get_serializer(rows, many=True)
        if request.accepted_renderer.format == "csv":
            header = [*self.get_serializer().fields]  # type: ignore[attr-defined]
            cells = ([row[name] for name in header] for row in serializer.data)
            return csv_response(self.csv_name, header, cells)
        return Response(serializer.data)


def _streams(study: Study) -> list[str]:
    """What a study's results depend on: its own records, its pool's, and those of the study it follows."""
    return [study.stream, *([study.pool.stream] if study.pool else []),
            *([study.parent.stream] if study.parent else [])]  # fmt: skip


class Confusion(_Computed):
    """How often each method called what by what: panel and held-out families, never pooled."""

    serializer_class = ConfusionSerializer
    csv_name = "confusion"

    @extend_schema(responses=ConfusionSerializer(many=True))
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return super().get(request, *args, **kwargs)

    def rows(self) -> Iterable[dict[str, Any]]:
        return confusion_rows(self.study)


class Pairs(_Computed):
    """Matched pairs in planned order; empty for a study without any."""

    serializer_class = PairSerializer
    csv_name = "pairs"

    @extend_schema(responses=PairSerializer(many=True))
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return super().get(request, *args, **kwargs)

    def rows(self) -> Iterable[dict[str, Any]]:
        return pair_rows(self.study)


class Costs(_Computed):
    """GPU time by scope. The scopes overlap: no two may be added."""

    serializer_class = CostSerializer
    csv_name = "costs"

    @extend_schema(responses=CostSerializer(many=True))
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        return super().get(request, *args, **kwargs)

    def rows(self) -> Iterable[dict[str, Any]]:
        return cost_rows(self.study)
