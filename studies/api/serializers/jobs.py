"""Jobs, as they are read and started."""

from __future__ import annotations

from rest_framework import serializers

from studies.api.fields import NameField, ObjectField, StrictSerializer
from studies.models import Job, JobEvent


class JobSerializer(serializers.ModelSerializer):
    """One job. ``done`` of ``total`` steps are made; ``lapsed`` says that its worker is lost."""

    study = serializers.CharField(source="study.slug", default=None)
    rerun_of = serializers.IntegerField(source="rerun_of_id", allow_null=True, read_only=True)
    earlier = serializers.IntegerField(source="earlier_id", allow_null=True, read_only=True)
    lapsed = serializers.BooleanField(read_only=True)

    class Meta:
        model = Job
        fields = ["id", "kind", "study", "parameters", "afresh", "queue", "state", "lapsed", "done", "total",
                  "sentence", "error", "created_by", "created_at", "started_at", "finished_at", "worker",
                  "fence", "claims", "lease_until", "cancel_requested", "rerun_of", "earlier", "input_sha256",
                  "environment"]  # fmt: skip


class JobEventSerializer(serializers.ModelSerializer):
    class Meta:
        model = JobEvent
        fields = ["what", "text", "actor", "fence", "recorded_at"]


class JobDetailSerializer(JobSerializer):
    """One job with its history and the end of its log."""

    events = JobEventSerializer(many=True)

    class Meta(JobSerializer.Meta):
        fields = [*JobSerializer.Meta.fields, "log", "events"]


class JobRequestSerializer(StrictSerializer):
    """A job to start."""

    kind = NameField(max_length=40)
    study = NameField(required=False, max_length=100)
    parameters = ObjectField(required=False)
    afresh = serializers.BooleanField(required=False, default=False)


class RerunSerializer(StrictSerializer):
    """How to run it anew."""

    afresh = serializers.BooleanField(required=False, default=False)


class NothingSerializer(StrictSerializer):
    """An empty object."""


class LinkSerializer(serializers.Serializer):
    label = serializers.CharField()  # type: ignore[assignment]
    address = serializers.CharField()


class JobResultSerializer(serializers.Serializer):
    """What a job produced. ``job`` is the one that computed it, maybe an earlier one."""

    job = serializers.IntegerField()
    sentence = serializers.CharField()
    links = LinkSerializer(many=True)
    sha256 = serializers.CharField()
    document = serializers.JSONField()
