"""By what tables can be narrowed. A value that is not understood is an error, never ignored."""

from __future__ import annotations

import django_filters as filters

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


class ConfigurationFilter(filters.FilterSet):
    class Meta:
        model = Configuration
        fields = ["case_id", "model_id", "workload_id", "configuration_level", "gpu_count"]


class SlotFilter(filters.FilterSet):
    configuration = filters.CharFilter(field_name="configuration__configuration_id")

    class Meta:
        model = SeedSlot
        fields = ["seed", "pair_id"]


class AttemptFilter(filters.FilterSet):
    slot = filters.CharFilter(field_name="slot__experiment_id")
    configuration = filters.CharFilter(field_name="slot__configuration__configuration_id")
    planned = filters.BooleanFilter(field_name="slot", lookup_expr="isnull", exclude=True)
    recorded_after = filters.IsoDateTimeFilter(field_name="recorded_at", lookup_expr="gt")
    recorded_before = filters.IsoDateTimeFilter(field_name="recorded_at", lookup_expr="lt")

    class Meta:
        model = Attempt
        fields = ["outcome", "origin", "diagnosis", "job_id", "invocation_id"]


class ExclusionFilter(filters.FilterSet):
    attempt = filters.CharFilter(field_name="attempt__invocation_id")

    class Meta:
        model = Exclusion
        fields = ["lifted"]


class EventFilter(filters.FilterSet):
    class Meta:
        model = Event
        fields = ["kind", "status", "job_id"]


class PredictionSetFilter(filters.FilterSet):
    class Meta:
        model = PredictionSet
        fields = ["kind", "fold"]


class PredictionFilter(filters.FilterSet):
    configuration = filters.CharFilter(field_name="configuration__configuration_id")
    kind = filters.ChoiceFilter(field_name="prediction_set__kind", choices=PredictionSet.Kind.choices)
    fold = filters.CharFilter(field_name="prediction_set__fold")

    class Meta:
        model = Prediction
        fields = ["method", "label"]


class EvaluationFilter(filters.FilterSet):
    kind = filters.ChoiceFilter(field_name="prediction_set__kind", choices=PredictionSet.Kind.choices)

    class Meta:
        model = Evaluation
        fields: list[str] = []


class JobFilter(filters.FilterSet):
    study = filters.CharFilter(field_name="study__slug")

    class Meta:
        model = Job
        fields = ["kind", "state", "queue"]
