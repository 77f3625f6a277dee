"""What became of a study: rows that are computed from its records whenever they are read."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from studies.api.serializers.plan import ConfigurationSerializer
from studies.models import Configuration, FittedModel


class FlatConfigurationSerializer(ConfigurationSerializer):
    """A configuration with what was observed and, for each method, its predicted state and peak, and whether
    its approval is unscored (`METHOD_predicted_state`, `METHOD_predicted_peak_mib`,
    `METHOD_unscored_approval`)."""

    def to_representation(self, instance: Configuration) -> dict[str, Any]:
        return {**super().to_representation(instance), **self.context["flat"].get(instance.pk, {})}


class FitSerializer(serializers.ModelSerializer):
    """Learned parameters of a held-out family's fit, or of the final one (`fold` is empty)."""

    kind = serializers.SerializerMethodField(
        help_text="Of the predictions that it made: panel, fold, or development of a method added later"
    )

    def get_kind(self, row: FittedModel) -> str:
        return next((item.kind for item in row.prediction_sets.all()), "")

    class Meta:
        model = FittedModel
        fields = ["id", "kind", "fold", "parameters", "environment", "source_sha256", "recorded_at"]


class ConfusionSerializer(serializers.Serializer):
    """How many configurations a method called one label while another was observed."""

    held_out_family = serializers.CharField(allow_blank=True, help_text="Empty: the panel's resolved part")
    method = serializers.CharField()
    predicted_state = serializers.CharField()
    observed_state = serializers.CharField()
    configurations = serializers.IntegerField()


class PairSerializer(serializers.Serializer):
    """A matched pair. Differences are more GPUs less fewer, null unless both completed."""

    pair_id = serializers.CharField()
    dataset = serializers.CharField()
    configuration_level = serializers.CharField()
    training_seed = serializers.IntegerField()
    first_gpu_count = serializers.IntegerField(help_text="Of the run that was drawn to be first")
    fewer_gpus = serializers.IntegerField()
    fewer_gpus_slot = serializers.CharField()
    fewer_gpus_state = serializers.CharField()
    more_gpus = serializers.IntegerField()
    more_gpus_slot = serializers.CharField()
    more_gpus_state = serializers.CharField()
    both_eligible = serializers.BooleanField()
    both_completed = serializers.BooleanField()
    peak_difference_mib = serializers.FloatField(allow_null=True)
    runtime_difference_seconds = serializers.FloatField(allow_null=True)


class CostSerializer(serializers.Serializer):
    """GPU time of one scope, GPU-seconds. The scopes overlap: no two may be added."""

    scope = serializers.CharField()
    known_gpu_seconds = serializers.FloatField()
    complete_total_gpu_seconds = serializers.FloatField(
        allow_null=True, help_text="Null when the time of a record is unknown"
    )
    known_records = serializers.IntegerField()
    unknown_records = serializers.IntegerField()
    stated_known_gpu_seconds = serializers.FloatField(
        allow_null=True, help_text="As the source states it; null where it states none"
    )
