"""What can be sent. Every field is checked here; what the records mean is decided in the services."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from host.gather import MOST_FILES
from studies.api.fields import (
    FileNameField,
    MomentField,
    NameField,
    NumberField,
    ObjectField,
    RepositoryField,
    Sha256,
    StrictSerializer,
    TextField,
)
from studies.models import Attempt, EvidenceFile
from studies.services.outcomes.attempts import EVIDENCE_FIELDS, declaration_problems

_LARGEST_MIB = 1e8
_LARGEST_SECONDS = 1e9


def _seconds(**kwargs: Any) -> NumberField:
    return NumberField(required=False, min_value=0, max_value=_LARGEST_SECONDS, **kwargs)


class HostUpload(StrictSerializer):
    """The machine that it ran on."""

    hostname = serializers.CharField(required=False, max_length=200)
    device_model = serializers.CharField(required=False, max_length=200)
    device_count = serializers.IntegerField(required=False, min_value=0, max_value=100_000)
    device_capacity_mib = NumberField(required=False, min_value=0, max_value=_LARGEST_MIB)
    driver = serializers.CharField(required=False, max_length=100)
    device_uuids = serializers.ListField(
        required=False, max_length=1024, child=serializers.CharField(max_length=100)
    )


class FileUpload(StrictSerializer):
    """A file by its hash. Its bytes were uploaded before, unless it is ``private``."""

    name = FileNameField()
    sha256 = Sha256()
    size_bytes = serializers.IntegerField(required=False, min_value=0, max_value=2**53)
    kind = serializers.ChoiceField(required=False, choices=EvidenceFile.Kind.choices)
    private = serializers.BooleanField(
        required=False, default=False, help_text="The bytes stay with the uploader; only the hash is recorded"
    )


class DeclaredUpload(StrictSerializer):
    """An outcome whose evidence can't be uploaded. Needs the scope ``declare``, and stays marked."""

    outcome = serializers.ChoiceField(choices=Attempt.Outcome.choices)
    source = serializers.CharField(  # type: ignore[assignment]
        max_length=300, help_text="Who or what says so"
    )
    diagnosis = serializers.CharField(required=False, max_length=60, allow_blank=True)
    stage = serializers.CharField(required=False, max_length=60, allow_blank=True)
    reason = serializers.CharField(required=False, max_length=500, allow_blank=True)
    peak_mib = NumberField(required=False, allow_null=True, min_value=0, max_value=_LARGEST_MIB)
    observed_peak_mib = NumberField(required=False, allow_null=True, min_value=0, max_value=_LARGEST_MIB)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if problems := declaration_problems(attrs):
            raise serializers.ValidationError({name: [text] for name, text in problems.items()})
        return attrs


class AttemptUploadSerializer(StrictSerializer):
    """One invocation and what was observed of it."""

    invocation_id = NameField(help_text="Identifies the invocation within the study, for good")
    slot = serializers.CharField(
        required=False, max_length=200,
        help_text="The planned slot (its experiment_id). Without one it is unplanned",
    )  # fmt: skip
    unplanned = serializers.BooleanField(
        required=False, default=serializers.empty,
        help_text="Record it although nobody planned the slot it names; it counts nowhere",
    )  # fmt: skip
    started_at = MomentField(required=False)
    ended_at = MomentField(required=False)
    exit_code = serializers.IntegerField(
        required=False,
        min_value=-255,
        max_value=255,
        help_text="As the shell or Python gives it",
    )
    signal = serializers.IntegerField(required=False, min_value=1, max_value=64)
    requested_steps = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9, help_text="Steps asked for; a planned slot has its own"
    )
    job_id = serializers.CharField(required=False, max_length=100)
    execution_commit = serializers.CharField(required=False, max_length=64, help_text="The commit that ran")
    repository = RepositoryField(required=False, help_text="Where that commit is: https://HOST/OWNER/NAME")
    pull_request = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="The pull or merge request it belongs to"
    )
    host = HostUpload(required=False)
    log = TextField(required=False, max_length=262_144, help_text="The log or its tail")
    samples = TextField(
        required=False, max_length=1_048_576, help_text="Sampled memory: timestamp_ns,MiB,MiB,… per line"
    )
    scheduler = TextField(required=False, max_length=65_536, help_text="Lines of sacct -P")
    device_peaks_mib = serializers.DictField(
        required=False, child=NumberField(min_value=0, max_value=_LARGEST_MIB),
        help_text="Sampled peak by device, where the samples themselves are not sent",
    )  # fmt: skip
    other_processes = serializers.ListField(
        required=False, max_length=100, child=serializers.CharField(max_length=500),
        help_text="Foreign processes that were seen on the task's devices",
    )  # fmt: skip
    claimed_diagnosis = serializers.CharField(
        required=False, max_length=60, help_text="Your own diagnosis; it is shown beside the derived one"
    )
    elapsed_seconds = _seconds()
    runtime_seconds = _seconds()
    task_gpu_seconds = _seconds()
    reserved_gpu_seconds = _seconds()
    task_gpu_count = serializers.IntegerField(required=False, min_value=0, max_value=100_000)
    facts = ObjectField(required=False, help_text="Anything else worth keeping, by your own names")
    files = FileUpload(many=True, required=False, max_length=MOST_FILES)  # type: ignore[call-arg]
    declared = DeclaredUpload(required=False)
    supersedes = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Invocation id of the wrong entry that this one corrects. Needs the scope exclusions",
    )
    supersedes_reason = serializers.CharField(
        required=False, max_length=2000, help_text="What is wrong with the superseded entry"
    )

    def validate_device_peaks_mib(self, value: dict[str, float]) -> dict[str, float]:
        if len(value) > 1024 or any(not 0 < len(name) <= 100 for name in value):
            raise serializers.ValidationError(
                "expected at most 1,024 devices with names of 1 to 100 characters"
            )
        return value

    def validate_files(self, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        names = [item["name"] for item in value]
        if len(set(names)) != len(names):
            raise serializers.ValidationError("expected each file name once")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        start, end = attrs.get("started_at"), attrs.get("ended_at")
        if start and end and end < start:
            raise serializers.ValidationError({"ended_at": ["expected a time not before started_at"]})
        if "declared" in attrs:
            for name in EVIDENCE_FIELDS:
                if attrs.get(name):
                    raise serializers.ValidationError(
                        {name: ["expected none with a declared outcome: it is declared or derived, not both"]}
                    )
        return attrs


class BatchUploadSerializer(StrictSerializer):
    """Many attempts: all are recorded, or none."""

    attempts = AttemptUploadSerializer(many=True, allow_empty=False)


class AttemptFormSerializer(serializers.Serializer):
    """A form: the record as JSON in ``attempt``, or field by field, and the files themselves."""

    attempt = serializers.CharField(required=False, help_text="The record as JSON")
    files = serializers.ListField(required=False, child=serializers.FileField())
    log = serializers.FileField(required=False)
    samples = serializers.FileField(required=False)
    scheduler = serializers.FileField(required=False)
    devices = serializers.FileField(required=False)
    trial = serializers.FileField(required=False)
    invocation_id = serializers.CharField(required=False)
    slot = serializers.CharField(required=False)
    exit_code = serializers.IntegerField(required=False)
    supersedes = serializers.CharField(required=False)
    supersedes_reason = serializers.CharField(required=False)


class LateFilesSerializer(StrictSerializer):
    """Files that come after their attempt; its outcome stays what it was."""

    files = FileUpload(many=True, allow_empty=False, max_length=MOST_FILES)  # type: ignore[call-arg]


class ExclusionUploadSerializer(StrictSerializer):
    """An attempt no longer counts, or (``lift``) counts again."""

    attempt = NameField(help_text="Its invocation id")
    reason = serializers.CharField(max_length=2000)
    lift = serializers.BooleanField(required=False, default=False)
