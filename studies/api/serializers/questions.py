"""A question of the kind “will it fit?”, as programs send it. Its values are judged by the service."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from studies.api.fields import NumberField, StrictSerializer
from studies.services.questions.reading import SETTINGS, SHARE, SWITCHES, TEXTS


class QuestionSettingsSerializer(StrictSerializer):
    """Settings by their column names. All of them, or those that differ from the configuration of `like`."""

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: _field(name) for name in SETTINGS}


def _field(name: str) -> serializers.Field:
    if name in TEXTS:
        return serializers.CharField(required=False, max_length=150)
    if name in SWITCHES:
        return serializers.BooleanField(required=False)
    if name == SHARE:
        return NumberField(required=False, min_value=0, max_value=1)
    return serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)


@extend_schema_field({"type": "object", "additionalProperties": {}})
class ConfigField(serializers.Field):
    """The object of a model's `config.json`."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("expected the object of a config.json")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class QuestionSerializer(StrictSerializer):
    """One setting that need not be planned anywhere. Nothing of it is recorded."""

    study = serializers.SlugField(max_length=100, help_text="Whose methods and pool answer")
    model = serializers.CharField(required=False, max_length=200, help_text="A model of the study's pool")
    config = ConfigField(required=False, help_text="Instead of model: the object of its config.json")
    model_id = serializers.CharField(required=False, max_length=200, help_text="Name of the sent model")
    family = serializers.CharField(required=False, max_length=100, help_text="Family of the sent model")
    lora_rank = serializers.IntegerField(required=False, min_value=1, max_value=4096)
    like = serializers.CharField(
        required=False, max_length=150,
        help_text="A configuration of the study or its pool that settings are taken from unless given",
    )  # fmt: skip
    settings = QuestionSettingsSerializer(required=False)
    device_capacity_mib = serializers.IntegerField(
        required=False, min_value=1, max_value=10**8, help_text="Of another device than the study's"
    )
    margin_limit_mib = serializers.IntegerField(required=False, min_value=1, max_value=10**8)


class GridAxesSerializer(StrictSerializer):
    """What is varied; what is left out is every model of the pool, and usual values."""

    models = serializers.ListField(
        required=False, max_length=100, child=serializers.CharField(max_length=200)
    )
    gpu_counts = serializers.ListField(
        required=False, max_length=100, child=serializers.IntegerField(min_value=1, max_value=100_000)
    )
    reservations = serializers.ListField(
        required=False, max_length=100, child=NumberField(min_value=0, max_value=1)
    )


class GridQuestionSerializer(QuestionSerializer):
    """A question asked again for each model, GPU count and reservation."""

    grid = GridAxesSerializer()
