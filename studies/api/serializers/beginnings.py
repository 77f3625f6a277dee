"""What begins a study or adds to what it rests on: a folder's files, architectures, surroundings."""

from __future__ import annotations

from rest_framework import serializers

from studies.api.fields import MomentField, NameField, NumberField, ObjectField, StrictSerializer
from studies.api.serializers.questions import ConfigField
from studies.models import Allocation, Event, ModelArchitecture, NonLaunch


class FolderSerializer(StrictSerializer):
    """A study's folder: its files by path, or in a form a zip called `archive`."""

    files = serializers.DictField(
        required=False,
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        help_text="Texts by path: study.yaml, protocol.yaml, configurations.csv, models/NAME/config.json …",
    )
    archive = serializers.FileField(required=False, allow_empty_file=True)


class FolderProblemSerializer(serializers.Serializer):
    file = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    field = serializers.CharField()
    value = serializers.CharField()
    expected = serializers.CharField()


class CheckedFolderSerializer(serializers.Serializer):
    """What would be recorded, or everything that is wrong. Nothing was recorded."""

    accepted = serializers.BooleanField()
    problems = FolderProblemSerializer(many=True)
    summary = serializers.ListField(child=serializers.CharField())


class ArchitectureSerializer(serializers.ModelSerializer):
    """A model of a pool; counts are elements, sizes bytes."""

    class Meta:
        model = ModelArchitecture
        exclude = ["id", "pool"]


class ArchitectureUploadSerializer(StrictSerializer):
    """A model by its `config.json`; its counts are derived from it."""

    model_id = serializers.CharField(max_length=200)
    family = serializers.CharField(max_length=100, help_text="Folds hold out one family at a time")
    revision = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    lora_rank = serializers.IntegerField(min_value=1, max_value=4096)
    config = ConfigField(help_text="The object of its config.json")


class _TimesSerializer(StrictSerializer):
    started_at = MomentField(required=False, allow_null=True)
    ended_at = MomentField(required=False, allow_null=True)
    facts = ObjectField(required=False)


class StudyEventUploadSerializer(_TimesSerializer):
    """Something that happened around the invocations. `position` is its number, from 0."""

    position = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    kind = serializers.CharField(max_length=100)
    status = serializers.ChoiceField(choices=Event.Status.choices)
    title = serializers.CharField(max_length=200)
    detail = serializers.CharField(required=False, allow_blank=True, max_length=20_000)
    job_id = serializers.CharField(required=False, allow_blank=True, max_length=100)
    source_commit = serializers.CharField(required=False, allow_blank=True, max_length=64)
    gpu_seconds = NumberField(required=False, allow_null=True, min_value=0)


class EventsUploadSerializer(StrictSerializer):
    events = StudyEventUploadSerializer(many=True, allow_empty=False, max_length=2000)  # type: ignore[call-arg]


class AllocationUploadSerializer(_TimesSerializer):
    """A scheduler allocation. `pair_id` is the pair, or whatever it was made for; times are GPU-seconds."""

    pair_id = NameField()
    job_id = serializers.CharField(max_length=100)
    gpu_count = serializers.IntegerField(min_value=1, max_value=100_000)
    scheduler_state = serializers.CharField(max_length=60)
    whole_gpu_seconds = NumberField(required=False, allow_null=True, min_value=0)
    batch_gpu_seconds = NumberField(required=False, allow_null=True, min_value=0)
    observed_gpu_seconds = NumberField(required=False, allow_null=True, min_value=0)


class AllocationsUploadSerializer(StrictSerializer):
    allocations = AllocationUploadSerializer(  # type: ignore[call-arg]
        many=True, allow_empty=False, max_length=2000
    )


class AllocationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Allocation
        fields = ["pair_id", "job_id", "gpu_count", "scheduler_state", "started_at", "ended_at",
                  "whole_gpu_seconds", "batch_gpu_seconds", "observed_gpu_seconds", "facts",
                  "recorded_at"]  # fmt: skip


class NonLaunchUploadSerializer(StrictSerializer):
    """A slot that was claimed or planned and never became an invocation."""

    slot = serializers.CharField(max_length=200)
    diagnosis = serializers.CharField(max_length=60)
    reason = serializers.CharField(max_length=500)
    facts = ObjectField(required=False)


class NonLaunchesUploadSerializer(StrictSerializer):
    non_launches = NonLaunchUploadSerializer(  # type: ignore[call-arg]
        many=True, allow_empty=False, max_length=2000
    )


class NonLaunchSerializer(serializers.ModelSerializer):
    slot = serializers.CharField(source="slot.experiment_id")

    class Meta:
        model = NonLaunch
        fields = ["slot", "diagnosis", "reason", "facts", "recorded_at"]


class AllocationsSerializer(serializers.Serializer):
    allocations = AllocationSerializer(many=True)


class NonLaunchesSerializer(serializers.Serializer):
    non_launches = NonLaunchSerializer(many=True)
