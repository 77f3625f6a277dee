"""What can be added to the plan of a draft study."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from studies.api.fields import NameField, NumberField, ObjectField, StrictSerializer
from studies.api.serializers.plan import SETTINGS
from studies.models import Configuration


class ConfigurationUploadSerializer(StrictSerializer, serializers.ModelSerializer):
    """A planned configuration, column by column. What is blank in the source is left out or null."""

    configuration_id = NameField(max_length=150)
    vllm_gpu_memory_utilization = NumberField(min_value=0.000001, max_value=0.999999)
    gpu_count = serializers.IntegerField(min_value=1, max_value=100_000)
    rollout_tp_size = serializers.IntegerField(min_value=1, max_value=100_000)
    device_capacity_mib = serializers.IntegerField(min_value=1, max_value=10**8)
    margin_limit_mib = serializers.IntegerField(min_value=1, max_value=10**8)

    class Meta:
        model = Configuration
        fields = ["configuration_id", *SETTINGS]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["margin_limit_mib"] > attrs["device_capacity_mib"]:
            raise serializers.ValidationError(
                {
                    "margin_limit_mib": [
                        f"expected at most the device capacity {attrs['device_capacity_mib']} MiB"
                    ]
                }
            )
        return attrs


class SlotUploadSerializer(StrictSerializer):
    """A planned process: a configuration with a training seed."""

    experiment_id = NameField()
    configuration = serializers.CharField(max_length=150, help_text="Its configuration_id")
    seed = serializers.IntegerField(min_value=-(2**31), max_value=2**31 - 1)
    position = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="Row of the planned order"
    )
    pair_id = serializers.CharField(required=False, max_length=200, allow_blank=True)
    period = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    device_ordinals = serializers.ListField(
        required=False, max_length=1024, child=serializers.IntegerField(min_value=0, max_value=100_000)
    )
    timeout_seconds = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    settings = ObjectField(required=False)


class ConfigurationsUploadSerializer(StrictSerializer):
    """Planned configurations: all are recorded, or none."""

    configurations = ConfigurationUploadSerializer(  # type: ignore[call-arg]
        many=True, allow_empty=False, max_length=2000
    )


class SlotsUploadSerializer(StrictSerializer):
    """Planned slots: all are recorded, or none."""

    slots = SlotUploadSerializer(many=True, allow_empty=False, max_length=5000)  # type: ignore[call-arg]
