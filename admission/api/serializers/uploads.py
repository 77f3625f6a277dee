"""What may be sent. Sizes are bytes; a time is words such as those on the issue, or empty for now."""

from __future__ import annotations

import math
from typing import Any

from rest_framework import serializers

from admission.api.fields import KeyField, Pointer
from admission.estimator import EXPERT_DISPATCHES, MAX_DOCUMENT_SIZE, MAX_WHOLE
from admission.models import (
    Change,
    ChangeHead,
    Correction,
    IssueEvent,
    LaterFact,
    Measurement,
    OpenQuestion,
    QuestionMention,
    Receipt,
    RelatedIssue,
    Review,
    StatusUpdate,
    Witness,
)
from studies.api.fields import ObjectField, StrictSerializer

COMMON = ["key", "stated", "stated_in", "sentence"]
MAX_WORK = 4_000_000
"""Steps squared times policies of one replay: about a second's work."""
NUMBER = {"number": {"max_value": 2**31 - 1}}
"""What both database engines keep."""


class RecordUpload(StrictSerializer, serializers.ModelSerializer):
    """What every record takes: its key, when it was stated, and the statement and sentence that say so."""

    key = KeyField(required=False, help_text="Yours, for sending it again; left out: one is made")
    stated = serializers.CharField(
        required=False, allow_blank=True, max_length=200,
        help_text="When it was stated, such as 2026-09-18, 2026-09-18 14:03 UTC, or September 18, 2026, "
        "late evening Mountain; left out: now",
    )  # fmt: skip
    stated_in = KeyField(required=False, allow_blank=True, help_text="Key of the statement that says so")

    def get_validators(self) -> list[Any]:
        return []  # the issue is in the address, and a key that stands is not an error


class StatusUpload(RecordUpload):
    class Meta:
        model = StatusUpdate
        fields = [*COMMON, "claim", "heading", "body", "account", "signed_name", "supersedes_words",
                  "revises"]  # fmt: skip

    revises = Pointer(queryset=StatusUpdate.objects.all(), required=False, allow_null=True)


class CorrectionUpload(RecordUpload):
    class Meta:
        model = Correction
        fields = [*COMMON, "kind", "target", "text", "signed_name"]


class FactUpload(RecordUpload):
    """What was first stated later about a recorded row."""

    class Meta:
        model = LaterFact
        fields = [*COMMON, "target", "field", "value"]

    value = serializers.JSONField(help_text="Text, or a whole number for sizes and tokens")


class EventUpload(RecordUpload):
    class Meta:
        model = IssueEvent
        fields = [*COMMON, "kind", "account", "cause", "before", "after"]


class ChangeUpload(RecordUpload):
    class Meta:
        model = Change
        fields = [*COMMON, "repository", "number", "title", "scope"]
        extra_kwargs = NUMBER


class HeadUpload(RecordUpload):
    class Meta:
        model = ChangeHead
        fields = [*COMMON, "change", "sha", "state", "checks", "merged_sha", "note"]

    change = Pointer(queryset=Change.objects.all())


class FindingUpload(StrictSerializer):
    severity = serializers.ChoiceField(choices=Review.SEVERITIES)
    text = serializers.CharField()


class ReviewUpload(RecordUpload):
    class Meta:
        model = Review
        fields = [*COMMON, "change", "head_sha", "base_sha", "reviewer", "account", "verdict", "findings",
                  "note", "carried_from", "carry_reason", "withdraws"]  # fmt: skip

    change = Pointer(queryset=Change.objects.all())
    findings = FindingUpload(many=True, required=False, max_length=1000)  # type: ignore[call-arg]
    carried_from = Pointer(queryset=Review.objects.all(), required=False, allow_null=True)
    withdraws = Pointer(queryset=Review.objects.all(), required=False, allow_null=True)


class ReceiptUpload(RecordUpload):
    class Meta:
        model = Receipt
        fields = [*COMMON, "label", "location", "sha256", "author", "access", "verified_by",
                  "independent"]  # fmt: skip


class QuestionUpload(RecordUpload):
    class Meta:
        model = OpenQuestion
        fields = [*COMMON, "text"]


class MentionUpload(RecordUpload):
    class Meta:
        model = QuestionMention
        fields = [*COMMON, "question", "says", "note"]

    question = Pointer(queryset=OpenQuestion.objects.all())


class RelatedUpload(RecordUpload):
    class Meta:
        model = RelatedIssue
        fields = [*COMMON, "repository", "number", "title", "why_separate"]
        extra_kwargs = NUMBER


MEASURED = ["label", "basis", "size_bytes", "size_words", "measured_from", "measured_to",
            "starts_after_admission"]  # fmt: skip


class OwnMeasurementUpload(RecordUpload):
    """A measurement sent inside its witness."""

    class Meta:
        model = Measurement
        fields = [*COMMON, *MEASURED]

    key = KeyField()


class MeasurementUpload(OwnMeasurementUpload):
    class Meta:
        model = Measurement
        fields = [*COMMON, "witness", *MEASURED]

    witness = Pointer(queryset=Witness.objects.all(), required=False, allow_null=True)


class WitnessUpload(RecordUpload):
    """A decision and what happened, perhaps with its measurements."""

    class Meta:
        model = Witness
        fields = [*COMMON, "title", "model_name", "hardware", "packed_tokens", "logical_tokens", "decision",
                  "trusted", "policy_revision", "required_bytes", "required_words", "usable_bytes",
                  "usable_words", "outcome", "failed_request_bytes", "failed_request_words", "free_bytes",
                  "free_words", "allocated_bytes", "allocated_words", "excess_bytes", "excess_words",
                  "same_shape_as", "contradicted_by", "note", "measurements"]  # fmt: skip

    key = KeyField()
    same_shape_as = Pointer(queryset=Witness.objects.all(), required=False, allow_null=True)
    contradicted_by = Pointer(queryset=Witness.objects.all(), required=False, allow_null=True)
    measurements = OwnMeasurementUpload(many=True, required=False, max_length=100)  # type: ignore[call-arg]


class PoliciesField(serializers.ListField):
    """Names of policies; each prices once."""

    child = serializers.CharField(max_length=200)

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("default", ["base"])
        kwargs.setdefault("help_text", "Names such as base, normalised+fc2_stage, joint_observation")
        super().__init__(max_length=16, **kwargs)


class ReplayRequest(StrictSerializer):
    """A history to price under policies; nothing of it is recorded."""

    document = ObjectField(max_bytes=MAX_DOCUMENT_SIZE, help_text="model, steps and perhaps source")
    policies = PoliciesField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        steps, policies = attrs["document"].get("steps"), len(attrs["policies"])
        # Each candidate may be priced against each observation, so the work grows with the square.
        most = math.isqrt(MAX_WORK // max(1, policies))
        if isinstance(steps, list) and len(steps) > most:
            found = f"has {len(steps)} steps under {policies} policies, expected at most {most} at once"
            raise serializers.ValidationError({"document": found})
        return attrs


class ReplayUpload(ReplayRequest):
    """A history to price and to keep beside a witness."""

    key = KeyField()
    witness = Pointer(queryset=Witness.objects.all())
    title = serializers.CharField(max_length=500)


def _whole(low: int, **more: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=low, max_value=MAX_WHOLE, **more)


class PricedModel(StrictSerializer):
    """Sizes of the model, and how it is spread over devices.

    The sizes stand here, or in ``config``; what stands here is used instead of what a config says.
    """

    config = ObjectField(required=False, help_text="A Hugging Face config.json that the sizes are read from")
    hidden_size = _whole(1, required=False, help_text="Needed without a config, like the next three")
    layers = _whole(1, required=False)
    element_bytes = _whole(1, required=False)
    experts_per_token = _whole(0, required=False)
    expert_intermediate_size = _whole(
        1, required=False, allow_null=True, help_text="Needed by fc2_stage and fc1_fc2_stage only"
    )
    tensor_parallel = _whole(1, required=False)
    context_parallel = _whole(1, required=False)
    expert_parallel = _whole(1, required=False)
    expert_tensor_parallel = _whole(1, required=False)
    expert_dispatch = serializers.ChoiceField(choices=EXPERT_DISPATCHES, required=False)
    dtype = serializers.ChoiceField(choices=["fp8", "bf16", "fp16", "fp32"], required=False)
    dropless = serializers.BooleanField(required=False)


class PricedForward(StrictSerializer):
    """Tokens after packing, tokens asked for, bytes to return."""

    packed_tokens = _whole(0)
    logical_tokens = _whole(0)
    output_bytes = _whole(0)


class SeenForward(PricedForward):
    """A measured forward: allocator readings of one interval, and what stayed afterwards."""

    packed_tokens = _whole(1)
    logical_tokens = _whole(1)
    baseline_bytes = _whole(0)
    peak_bytes = _whole(0)
    retained_bytes = _whole(0, required=False, allow_null=True)


class PriceRequest(StrictSerializer):
    """One forward to price; what was observed before it stands oldest first."""

    model = PricedModel()
    forward = PricedForward()
    observations = SeenForward(many=True, required=False, max_length=1000)  # type: ignore[call-arg]
    usable_bytes = _whole(0, required=False, allow_null=True, help_text="Left out: no decision")
    policies = PoliciesField()
