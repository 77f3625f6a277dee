"""What happened, as it is read."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from studies.models import Attempt, Event, EvidenceFile, Exclusion
from studies.services.outcomes.evidence_checks import Bytes, bytes_of


class AttemptSerializer(serializers.ModelSerializer):
    """One invocation. ``origin`` says whether its outcome is derived or declared by a source."""

    slot = serializers.SerializerMethodField(help_text="experiment_id; null for an unplanned invocation")
    role = serializers.SerializerMethodField(help_text="What it is to its slot: only an eligible one counts")
    exclusion = serializers.SerializerMethodField(help_text="Why it is excluded; null when it is not")
    evidence_line = serializers.CharField(read_only=True, help_text="The line that decides")
    claim_disagrees = serializers.BooleanField(read_only=True)
    supersedes = serializers.SerializerMethodField(help_text="Invocation id of the wrong entry it corrects")
    superseded_by = serializers.SerializerMethodField(help_text="Invocation id of the entry that corrects it")

    class Meta:
        model = Attempt
        fields = ["invocation_id", "slot", "slot_name", "role", "exclusion", "outcome", "origin",
                  "source", "diagnosis", "stage", "reason", "evidence_line", "claimed_diagnosis",
                  "claim_disagrees", "peak_mib", "observed_peak_mib", "started_at", "ended_at",
                  "exit_code", "exit_signal", "elapsed_seconds", "runtime_seconds", "task_gpu_seconds",
                  "reserved_gpu_seconds", "task_gpu_count", "job_id", "execution_commit",
                  "content_sha256", "supersedes", "supersedes_reason", "superseded_by",
                  "recorded_at"]  # fmt: skip

    def _state(self, row: Attempt) -> Any:
        return self.context["attempts"][row.pk]

    def get_slot(self, row: Attempt) -> str | None:
        return row.slot.experiment_id if row.slot else None

    def get_role(self, row: Attempt) -> str:
        return str(self._state(row).role)

    def get_exclusion(self, row: Attempt) -> str | None:
        exclusion = self._state(row).exclusion
        return exclusion.reason if exclusion else None

    def get_supersedes(self, row: Attempt) -> str | None:
        return self._name(self._state(row).supersedes)

    def get_superseded_by(self, row: Attempt) -> str | None:
        return self._name(self._state(row).superseded_by)

    def _name(self, row: Attempt | None) -> str | None:
        return row.invocation_id if row else None


class EvidenceFileSerializer(serializers.ModelSerializer):
    """A file of an attempt; ``late`` ones came after it."""

    stored = serializers.SerializerMethodField(
        help_text="Whether its bytes are here: they came with it, or later under the same sha256"
    )
    bytes = serializers.SerializerMethodField(
        help_text="What there is of its bytes; damaged: what is stored has another sha256"
    )

    class Meta:
        model = EvidenceFile
        fields = ["name", "kind", "sha256", "size_bytes", "stored", "bytes", "late", "recorded_at"]

    def get_stored(self, row: EvidenceFile) -> bool:
        return self._state(row).readable

    @extend_schema_field(serializers.ChoiceField(choices=[str(state) for state in Bytes]))
    def get_bytes(self, row: EvidenceFile) -> str:
        return str(self._state(row))

    def _state(self, row: EvidenceFile) -> Bytes:
        if not hasattr(row, "bytes_state"):
            row.bytes_state = bytes_of(row)  # type: ignore[attr-defined]
        return row.bytes_state  # type: ignore[attr-defined]


class EvidenceFilesSerializer(serializers.Serializer):
    files = EvidenceFileSerializer(many=True)


class AttemptDetailSerializer(AttemptSerializer):
    """An attempt with all evidence lines, what the classifier said, its files and its other facts."""

    evidence = serializers.ListField(child=serializers.DictField())
    files = EvidenceFileSerializer(many=True)
    derivation = serializers.JSONField(allow_null=True)
    facts = serializers.JSONField()
    texts = serializers.JSONField(allow_null=True, help_text="Evidence that was sent inside the record")

    class Meta(AttemptSerializer.Meta):
        fields = [*AttemptSerializer.Meta.fields, "evidence", "derivation", "files", "facts", "texts"]


class NotReadSerializer(serializers.Serializer):
    file = serializers.CharField()
    reason = serializers.CharField()


class ReceiptSerializer(serializers.Serializer):
    """What an upload was understood as. The attempt's own address has the rest."""

    SAME = (
        "invocation_id", "slot_name", "outcome", "origin", "source", "diagnosis", "reason", "evidence_line",
        "claimed_diagnosis", "claim_disagrees", "peak_mib", "observed_peak_mib", "content_sha256",
    )  # fmt: skip

    invocation_id = serializers.CharField()
    status = serializers.ChoiceField(choices=["recorded", "unchanged"])
    slot = serializers.CharField(allow_null=True, help_text="experiment_id; null for an unplanned invocation")
    slot_name = serializers.CharField(allow_null=True, help_text="The slot that the upload named")
    outcome = serializers.ChoiceField(choices=Attempt.Outcome.choices)
    origin = serializers.ChoiceField(choices=Attempt.Origin.choices)
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    diagnosis = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    evidence_line = serializers.CharField(allow_blank=True, help_text="The line that decides")
    claimed_diagnosis = serializers.CharField(allow_null=True)
    claim_disagrees = serializers.BooleanField()
    peak_mib = serializers.FloatField(allow_null=True)
    observed_peak_mib = serializers.FloatField(allow_null=True)
    content_sha256 = serializers.CharField()
    supersedes = serializers.CharField(allow_null=True, help_text="The wrong entry that it corrects")
    page = serializers.URLField(help_text="The attempt's page")
    not_read = NotReadSerializer(many=True, help_text="Files on which the outcome does not wholly rest")
    problems = serializers.ListField(
        child=serializers.CharField(), help_text="What could not be read, or is wrong with the sampling"
    )
    role = serializers.CharField(help_text="What it is to its slot: only an eligible one counts")
    one_more_may_count = serializers.BooleanField(
        allow_null=True,
        help_text="Whether one more attempt could resolve the slot; null for an unplanned one",
    )


class BeforeSerializer(serializers.Serializer):
    state = serializers.CharField()
    invocation_id = serializers.CharField()


class VerdictSerializer(serializers.Serializer):
    """One attempt, judged against its margin, the sealed predictions and what its slot showed before."""

    invocation_id = serializers.CharField()
    state = serializers.ChoiceField(
        choices=["within_margin", "above_margin", "memory_failure", "unresolved", "completed"],
        help_text="completed only for an unplanned attempt, which has no margin",
    )
    findings = serializers.ListField(child=serializers.CharField(), help_text="The state, and regression")
    sentence = serializers.CharField()
    peak_mib = serializers.FloatField(allow_null=True)
    margin_mib = serializers.FloatField(allow_null=True)
    predicted = serializers.DictField(child=serializers.CharField(), help_text="Sealed label by method")
    before = BeforeSerializer(allow_null=True)


class RecordedSerializer(serializers.Serializer):
    invocation_id = serializers.CharField()
    status = serializers.ChoiceField(choices=["recorded", "unchanged"])


class BatchResultSerializer(serializers.Serializer):
    """What became of each attempt, in the order in which they were sent."""

    recorded = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    attempts = RecordedSerializer(many=True)


class EvidenceSummarySerializer(serializers.Serializer):
    """Sizes are those of the files as they were sent."""

    files = serializers.IntegerField(help_text="Recorded files")
    size_bytes = serializers.IntegerField(help_text="Their bytes")
    pending_files = serializers.IntegerField(help_text="Sent, and named by no attempt yet")
    pending_bytes = serializers.IntegerField()
    limit_bytes = serializers.IntegerField(
        allow_null=True, help_text="What the study may have; null: no limit"
    )
    unchecked = serializers.IntegerField(help_text="Recorded files whose hash was not made anew yet")
    damaged = serializers.IntegerField()
    missing = serializers.IntegerField()


class BlobSerializer(serializers.Serializer):
    sha256 = serializers.CharField()
    size_bytes = serializers.IntegerField()


class ExclusionSerializer(serializers.ModelSerializer):
    """An exclusion, or the lifting of one. ``supersedes`` is the id of the record before it."""

    attempt = serializers.CharField(source="attempt.invocation_id")
    supersedes: serializers.PrimaryKeyRelatedField = serializers.PrimaryKeyRelatedField(
        read_only=True, allow_null=True
    )

    class Meta:
        model = Exclusion
        fields = ["id", "attempt", "lifted", "reason", "author", "supersedes", "recorded_at"]


class EventSerializer(serializers.ModelSerializer):
    class Meta:
        model = Event
        fields = ["position", "kind", "status", "title", "detail", "job_id", "source_commit",
                  "started_at", "ended_at", "gpu_seconds", "facts", "recorded_at"]  # fmt: skip


class EventsSerializer(serializers.Serializer):
    events = EventSerializer(many=True)
