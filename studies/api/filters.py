"""By what tables can be narrowed. A value that is not understood is an error, never ignored."""

from __future__ import annotations

from decimal import Decimal

import django_filters as filters
from django.db.models import QuerySet

from rlvram_site.api.filters import FlagFilter, RecordFilterSet
from studies.models import (
    Attempt,
    Configuration,
    Evaluation,
    Event,
    Exclusion,
    Job,
    Prediction,
    PredictionSet,
    SeedSlot,
)


class ConfigurationFilter(RecordFilterSet):
    class Meta:
        model = Configuration
        fields = ["case_id", "model_id", "workload_id", "configuration_level", "gpu_count"]


class SlotFilter(RecordFilterSet):
    configuration = filters.CharFilter(field_name="configuration__configuration_id")

    class Meta:
        model = SeedSlot
        fields = ["seed", "pair_id"]


class AttemptFilter(RecordFilterSet):
    slot = filters.CharFilter(field_name="slot__experiment_id")
    configuration = filters.CharFilter(field_name="slot__configuration__configuration_id")
    planned = FlagFilter(field_name="slot", lookup_expr="isnull", exclude=True)
    commit = filters.CharFilter(field_name="execution_commit")
    repository = filters.CharFilter(field_name="facts__repository")
    pull_request = filters.NumberFilter(method="of_pull_request")
    recorded_after = filters.IsoDateTimeFilter(field_name="recorded_at", lookup_expr="gt")
    recorded_before = filters.IsoDateTimeFilter(field_name="recorded_at", lookup_expr="lt")

    class Meta:
        model = Attempt
        fields = ["outcome", "origin", "diagnosis", "job_id", "invocation_id"]

    def of_pull_request(self, queryset: QuerySet[Attempt], name: str, value: Decimal) -> QuerySet[Attempt]:
        # A decimal is no number of JSON.
        return queryset.filter(facts__pull_request=int(value))


class ExclusionFilter(RecordFilterSet):
    attempt = filters.CharFilter(field_name="attempt__invocation_id")

    class Meta:
        model = Exclusion
        fields = ["lifted"]


class EventFilter(RecordFilterSet):
    class Meta:
        model = Event
        fields = ["kind", "status", "job_id"]


class PredictionSetFilter(RecordFilterSet):
    class Meta:
        model = PredictionSet
        fields = ["kind", "fold"]


class PredictionFilter(RecordFilterSet):
    configuration = filters.CharFilter(field_name="configuration__configuration_id")
    kind = filters.ChoiceFilter(field_name="prediction_set__kind", choices=PredictionSet.Kind.choices)
    fold = filters.CharFilter(field_name="prediction_set__fold")

    class Meta:
        model = Prediction
        fields = ["method", "label"]


class EvaluationFilter(RecordFilterSet):
    kind = filters.ChoiceFilter(field_name="prediction_set__kind", choices=PredictionSet.Kind.choices)

    class Meta:
        model = Evaluation
        fields: list[str] = []


class JobFilter(RecordFilterSet):
    study = filters.CharFilter(field_name="study__slug")

    class Meta:
        model = Job
        fields = ["kind", "state", "queue"]
