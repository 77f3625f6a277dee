"""Hosts, and what they report of the jobs that they run."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from studies.api.fields import NameField, NumberField, StrictSerializer, TextField
from studies.models import Host


class HostSerializer(serializers.ModelSerializer):
    class Meta:
        model = Host
        fields = ["name", "hostname", "driver", "devices", "programs", "set_aside", "registered_at",
                  "registered_by", "last_seen_at", "current_slot", "memory_mib", "queue"]  # fmt: skip

    queue = serializers.CharField(read_only=True)


class DeviceSerializer(StrictSerializer):
    """One device of a host."""

    uuid = NameField(max_length=100)
    ordinal = serializers.IntegerField(min_value=0, max_value=1023)
    name = serializers.CharField(max_length=200)
    capacity_mib = serializers.IntegerField(min_value=1, max_value=10**8)


class SetAsideSerializer(StrictSerializer):
    """A run that the site did not take."""

    invocation = serializers.CharField(max_length=200)
    reason = serializers.CharField(max_length=500)


@extend_schema_serializer(component_name="HostDescription")
class HostUploadSerializer(StrictSerializer):
    """A host describes itself."""

    hostname = serializers.CharField(max_length=200)
    machine = serializers.RegexField(
        r"^[0-9a-f]{0,64}\Z", required=False, default="", allow_blank=True,
        help_text="Tells this machine from another one of the same name",
    )  # fmt: skip
    driver = serializers.CharField(max_length=100)
    devices = DeviceSerializer(many=True, allow_empty=False, max_length=64)  # type: ignore[call-arg]
    programs = serializers.ListField(
        required=False, default=list, max_length=100, child=serializers.CharField(max_length=100),
        help_text="Names of the programs that its own file allows",
    )  # fmt: skip
    set_aside = SetAsideSerializer(many=True, required=False, default=list, max_length=50)  # type: ignore[call-arg]


class ClaimSerializer(serializers.Serializer):
    """A job that the host holds now, and its orders: what to run is a program of the host's own file."""

    job = serializers.IntegerField()
    orders = serializers.ListField(child=serializers.DictField())
    fence = serializers.IntegerField()
    lease_seconds = serializers.IntegerField()


class OrdersSerializer(serializers.Serializer):
    orders = serializers.ListField(child=serializers.DictField())
    more = serializers.BooleanField(help_text="There are further open slots")


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


class SlotResultSerializer(StrictSerializer):
    """What is known of one slot. Launched, ended, uploaded and recorded are four facts."""

    slot = serializers.CharField(max_length=200)
    invocation = serializers.CharField(max_length=200, required=False)
    launched = serializers.BooleanField(default=False)
    ended = serializers.BooleanField(default=False)
    uploaded = serializers.BooleanField(default=False)
    recorded = serializers.BooleanField(default=False)
    exit_code = serializers.IntegerField(required=False, allow_null=True, min_value=-255, max_value=255)
    problem = serializers.CharField(max_length=500, allow_blank=True, default="")
    outcome = serializers.CharField(max_length=20, required=False, allow_null=True)
    diagnosis = serializers.CharField(max_length=60, required=False, allow_null=True, allow_blank=True)


class EndSerializer(BeatSerializer):
    """What the host did."""

    results = SlotResultSerializer(many=True, max_length=10_000)  # type: ignore[call-arg]
    cancelled = serializers.BooleanField(default=False)
