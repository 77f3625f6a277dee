"""Recorded rows as they are read: every field that was recorded, and nothing that is derived.

Rows name each other by key. Sizes are bytes; ``sort_at`` is the middle of what the stated words allow.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from admission.models import (
    Change,
    Correction,
    IssueAddress,
    IssueEvent,
    IssueVersion,
    LaterFact,
    Measurement,
    Proposal,
    QuestionMention,
    Receipt,
    RecordedReplay,
    RelatedIssue,
    ThreadCount,
    ThreadItem,
)
from admission.services.standing import words_are_kept

COMMON = ["origin", "stated_words", "stated_precision", "stated_day", "sort_at", "stated_in", "sentence",
          "seen_at", "dated_ahead", "address", "recorded_at"]  # fmt: skip


class KeyOf(serializers.SlugRelatedField):
    """Another record by its key; null for none."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(slug_field="key", read_only=True, **kwargs)  # type: ignore[arg-type]


class RecordSerializer(serializers.ModelSerializer):
    """What every record has. ``address`` is its page."""

    address = serializers.CharField(source="get_absolute_url", read_only=True)
    dated_ahead = serializers.BooleanField(
        read_only=True, help_text="Its date was still to come when it was seen; it never holds"
    )


class CutText(RecordSerializer):
    """A record with a long text: the table has its start, the statement's own address all of it."""

    body = serializers.CharField(source="body_start", read_only=True)
    body_length = serializers.IntegerField(read_only=True, help_text="Characters of the whole text")


class VersionSerializer(CutText):
    """Title and body as one export gave them."""

    class Meta:
        model = IssueVersion
        fields = ["key", "number", "title", "body_sha256", "body", "body_length", *COMMON]


class ThreadItemSerializer(CutText):
    """A comment or an event of the thread; a later wording of a comment ``revises`` the earlier one."""

    revises = KeyOf(allow_null=True)
    kept = serializers.SerializerMethodField(
        help_text="Whether the text of that moment is kept; it was edited later and is empty if not"
    )

    class Meta:
        model = ThreadItem
        fields = ["key", "kind", "event", "known", "external_id", "url", "account", "signed_name",
                  "revises", "kept", "body", "body_length", *COMMON]  # fmt: skip

    def get_kept(self, item: ThreadItem) -> bool:
        view = self.context.get("view")
        return words_are_kept(item, view.day if view is not None else None)

    def to_representation(self, instance: ThreadItem) -> dict[str, Any]:
        shown = super().to_representation(instance)
        return shown if shown["kept"] else {**shown, "body": ""}


class AddressSerializer(RecordSerializer):
    """An address under which a forge gave the issue, with the forge's own id of it."""

    class Meta:
        model = IssueAddress
        fields = ["key", "host", "owner", "name", "number", "url", "forge_id", *COMMON]


class FactSerializer(RecordSerializer):
    """One field of a recorded row in what was first stated later than the row."""

    value = serializers.JSONField()

    class Meta:
        model = LaterFact
        fields = ["key", "target", "field", "value", *COMMON]


class GapSerializer(RecordSerializer):
    """How many comments an export counted and held. The latest row holds."""

    missing_comments = serializers.IntegerField(read_only=True)

    class Meta:
        model = ThreadCount
        fields = ["key", "declared_comments", "present_comments", "missing_comments", "place", *COMMON]


class IssueEventSerializer(RecordSerializer):
    class Meta:
        model = IssueEvent
        fields = ["key", "kind", "account", "cause", "before", "after", *COMMON]


class CorrectionSerializer(RecordSerializer):
    """What was said later about the record that ``target`` names."""

    class Meta:
        model = Correction
        fields = ["key", "kind", "target", "text", "signed_name", *COMMON]


class MentionSerializer(RecordSerializer):
    question = KeyOf()

    class Meta:
        model = QuestionMention
        fields = ["key", "question", "says", "note", *COMMON]


class RelatedSerializer(RecordSerializer):
    class Meta:
        model = RelatedIssue
        fields = ["key", "repository", "number", "title", "why_separate", *COMMON]


class EvidenceReceiptSerializer(RecordSerializer):
    verified_independently = serializers.BooleanField(
        read_only=True, help_text="Whether somebody else than its author verified it"
    )

    class Meta:
        model = Receipt
        fields = ["key", "label", "location", "sha256", "author", "access", "verified_by", "independent",
                  "verified_independently", *COMMON]  # fmt: skip


class MeasurementSerializer(RecordSerializer):
    """One measured size. Only an increment is comparable with a prediction."""

    witness = KeyOf(allow_null=True)

    class Meta:
        model = Measurement
        fields = ["key", "witness", "label", "basis", "size_bytes", "size_words", "measured_from",
                  "measured_to", "starts_after_admission", *COMMON]  # fmt: skip


class ReplaySerializer(RecordSerializer):
    """A recorded replay; its document and results stand at the statement's own address."""

    witness = KeyOf()
    policies = serializers.ListField(child=serializers.CharField())
    summary = serializers.JSONField(source="results.summary", help_text="Counts by policy")

    class Meta:
        model = RecordedReplay
        fields = ["key", "witness", "title", "policies", "summary", *COMMON]


class ProposalSerializer(RecordSerializer):
    """What the text suggests recording, and what was decided about it; null while nothing was."""

    verdict = serializers.CharField(source="decision.verdict", default=None, allow_null=True, read_only=True)
    made = serializers.CharField(
        source="decision.made", default=None, allow_null=True, read_only=True,
        help_text="Key of the record made from it",
    )  # fmt: skip
    value = serializers.JSONField(help_text="What it would record")

    class Meta:
        model = Proposal
        fields = ["key", "kind", "found", "value", "verdict", "made", *COMMON]


class PlainChangeSerializer(RecordSerializer):
    label = serializers.CharField(read_only=True)  # type: ignore[assignment]

    class Meta:
        model = Change
        fields = ["key", "label", "repository", "number", "title", "scope", *COMMON]
