"""What was predicted, sealed and scored, as it is read."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from studies.models import Evaluation, Prediction, PredictionSet, Seal
from studies.services.whose_word import CHECKED, STATED, seal_word


class PredictionSetSerializer(serializers.ModelSerializer):
    inherits: serializers.PrimaryKeyRelatedField = serializers.PrimaryKeyRelatedField(
        read_only=True, allow_null=True
    )

    class Meta:
        model = PredictionSet
        fields = ["id", "kind", "fold", "inherits", "origins", "source_sha256", "source_path", "recorded_at"]


class PredictionSerializer(serializers.ModelSerializer):
    """One method's prediction for one target; an approval predicts within_margin. Peaks are MiB.

    The kind ``development`` is of a method that was added when the labels were public: no blind prediction.
    """

    prediction_set: serializers.PrimaryKeyRelatedField = serializers.PrimaryKeyRelatedField(read_only=True)
    kind = serializers.CharField(source="prediction_set.kind")
    fold = serializers.CharField(source="prediction_set.fold")
    configuration = serializers.CharField(source="configuration.configuration_id")
    donor = serializers.CharField(source="donor.configuration_id", default=None, allow_null=True)
    approves = serializers.BooleanField(read_only=True)
    undecided = serializers.BooleanField(
        read_only=True, help_text="Too close to call: neither an approval nor a rejection"
    )

    class Meta:
        model = Prediction
        fields = ["id", "prediction_set", "kind", "fold", "configuration", "method", "label", "approves",
                  "undecided", "peak_mib", "lower_peak_mib", "upper_peak_mib", "remark", "donor",
                  "donor_gpu_count_matches", "peak_only_label", "guard_applicable",
                  "guard_sum_mib", "guard_predicts_failure",
                  "guard_changed_label", "recorded_at"]  # fmt: skip


class SealSerializer(serializers.ModelSerializer):
    prediction_set: serializers.PrimaryKeyRelatedField = serializers.PrimaryKeyRelatedField(read_only=True)
    whose_word = serializers.SerializerMethodField(
        help_text="Whether hash and time were checked here or are stated by the source"
    )

    @extend_schema_field(serializers.ChoiceField(choices=[CHECKED, STATED]))
    def get_whose_word(self, row: Seal) -> str:
        return seal_word(row).word

    class Meta:
        model = Seal
        fields = ["id", "prediction_set", "sha256", "source_path", "sealed_at", "protocol_sha256",
                  "amendments_sha256", "input_sha256", "output_sha256", "parent_seal_sha256",
                  "environment", "fit_seconds", "bound", "whose_word", "recorded_at"]  # fmt: skip


class EvaluationSerializer(serializers.ModelSerializer):
    """Scores of one prediction set. Held-out families and panels are never pooled into one number."""

    prediction_set: serializers.PrimaryKeyRelatedField = serializers.PrimaryKeyRelatedField(read_only=True)
    kind = serializers.CharField(source="prediction_set.kind")
    fold = serializers.CharField(source="prediction_set.fold")

    class Meta:
        model = Evaluation
        fields = ["id", "prediction_set", "kind", "fold", "inputs_sha256", "inputs", "result", "recorded_at"]


class EvaluationRequestSerializer(serializers.Serializer):
    """Which set to evaluate."""

    prediction_set = serializers.IntegerField(min_value=1, max_value=2**53)
