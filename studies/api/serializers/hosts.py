"""Hosts, and what they report of the jobs that they run."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from studies.api.fields import NameField, NumberField, ObjectField, StrictSerializer, TextField
from studies.models import Host


class HostSerializer(serializers.ModelSerializer):
    class Meta:
        model = Host
        fields = ["name", "hostname", "driver", "devices", "registered_at", "registered_by", "last_seen_at",
                  "current_slot", "memory_mib", "queue"]  # fmt: skip

    queue = serializers.CharField(read_only=True)


class DeviceSerializer(StrictSerializer):
    """One device of a host."""

    uuid = NameField(max_length=100)
    ordinal = serializers.IntegerField(min_value=0, max_value=1023)
    name = serializers.CharField(max_length=200)
    capacity_mib = serializers.IntegerField(min_value=1, max_value=10**8)


@extend_schema_serializer(component_name="HostDescription")
class HostUploadSerializer(StrictSerializer):
    """A host describes itself."""

    hostname = serializers.CharField(max_length=200)
    driver = serializers.CharField(max_length=100)
    devices = DeviceSerializer(many=True, allow_empty=False, max_length=64)  # type: ignore[call-arg]


class ClaimSerializer(serializers.Serializer):
    """A job that the host holds now."""

    fence = serializers.IntegerField()
    lease_seconds = serializers.IntegerField()


class BeatSerializer(StrictSerializer):
    """How far the host is with a job."""

    fence = serializers.IntegerField(min_value=0)
    done = serializers.IntegerField(min_value=0, max_value=10**6)
    total = serializers.IntegerField(min_value=0, max_value=10**6)
    sentence = serializers.CharField(max_length=300, allow_blank=True)
    slot = serializers.CharField(max_length=200, allow_blank=True)
    memory_mib = serializers.DictField(child=NumberField(min_value=0, max_value=1e8))
    log = TextField(max_length=65_536)

    def validate_memory_mib(self, value: dict[str, float]) -> dict[str, float]:
        if len(value) > 64:
            raise serializers.ValidationError("expected at most 64 devices")
        return value


class BeatAnswerSerializer(serializers.Serializer):
    cancel = serializers.BooleanField(help_text="Somebody asked for the job to stop")


class EndSerializer(BeatSerializer):
    """What the host did."""

    results = serializers.ListField(child=ObjectField(), max_length=10_000)
    cancelled = serializers.BooleanField(default=False)
