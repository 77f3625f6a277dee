"""Rows with what follows from them. All of it is derived by ``admission.services``; nothing is recorded."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from admission.api.serializers.records import (
    COMMON,
    GapSerializer,
    KeyOf,
    PlainChangeSerializer,
    RecordSerializer,
    RelatedSerializer,
)
from admission.models import ChangeHead, OpenQuestion, Review, StatusUpdate, TrackedIssue, Witness
from admission.models.issues import PUBLIC_HOST
from admission.services.changes import ChangeRow, GivenVerdict, Head
from admission.services.overview import Overview
from admission.services.witnesses import ClassCounts, ScoredWitness, WitnessClass
from rlvram_site.as_of import as_of_text

VERDICTS = ["", "changes_required", "clear", "inconclusive"]
CLASSES = [name.value for name in WitnessClass]


class ShortStatusSerializer(serializers.Serializer):
    """A status update in a line. Takes a ``StandingStatus``."""

    key = serializers.CharField(source="update.key")
    claim = serializers.CharField()
    stated_day = serializers.DateField(source="update.stated_day")
    stated_words = serializers.CharField(source="update.stated_words")


class StatusSerializer(serializers.Serializer):
    """A status update in its latest wording, and what became of it. Takes a ``StandingStatus``."""

    key = serializers.CharField(source="original.key")
    latest_wording = serializers.CharField(source="update.key", help_text="Key of the row that words it")
    current = serializers.BooleanField(help_text="Whether it is what holds")
    superseded_by = serializers.CharField(
        source="superseded_by.key", default=None, allow_null=True, help_text="Key of the one that did"
    )
    withdrawn_by = serializers.CharField(source="withdrawn.key", default=None, allow_null=True)
    corrections = serializers.SerializerMethodField(help_text="Keys of what was said about it later")
    kind = serializers.ChoiceField(source="update.kind", choices=StatusUpdate.Kind.choices)
    heading = serializers.CharField(source="update.heading")
    claim = serializers.CharField()
    kept = serializers.BooleanField(help_text="Whether the text of that moment is kept; it is empty if not")
    dated_ahead = serializers.BooleanField(
        help_text="Its date was still to come when it was seen; it never holds"
    )
    body = serializers.CharField()
    account = serializers.CharField(source="update.account")
    signed_name = serializers.CharField(source="update.signed_name")
    supersedes_words = serializers.CharField(source="update.supersedes_words")
    origin = serializers.CharField(source="update.origin")
    stated_words = serializers.CharField(source="original.stated_words")
    stated_precision = serializers.CharField(source="original.stated_precision")
    stated_day = serializers.DateField(source="original.stated_day")
    sort_at = serializers.DateTimeField(source="original.sort_at")
    stated_in = serializers.CharField(source="update.stated_in")
    sentence = serializers.CharField(source="update.sentence")
    address = serializers.CharField(source="original.get_absolute_url")
    recorded_at = serializers.DateTimeField(source="original.recorded_at")

    def to_representation(self, instance: StatusUpdate) -> dict[str, Any]:
        standing = self.context["standing"][instance.pk]
        standing.body = self.context["bodies"][standing.update.pk] if standing.kept else ""
        return super().to_representation(standing)

    def get_corrections(self, standing: Any) -> list[str]:
        return [correction.key for correction in standing.corrections]


class GivenVerdictSerializer(serializers.Serializer):
    """A verdict for a head, and whether it stands."""

    key = serializers.CharField(source="review.key")
    reviewer = serializers.CharField(source="review.reviewer")
    verdict = serializers.CharField(source="review.verdict")
    stands = serializers.BooleanField()
    fate = serializers.CharField(help_text="stands, withdrawn or replaced")


class HeadOfChangeSerializer(serializers.Serializer):
    """One head of a change, with everything stated about it."""

    sha = serializers.CharField()
    state = serializers.CharField(source="latest.state", default=None, allow_null=True)
    checks = serializers.CharField(source="latest.checks", default=None, allow_null=True)
    standing_verdict = serializers.ChoiceField(source="verdict", choices=VERDICTS)
    verdicts = GivenVerdictSerializer(many=True)
    stated = serializers.SerializerMethodField(help_text="Keys of the statements about it, in time")

    def get_stated(self, head: Head) -> list[str]:
        return [row.key for row in head.stated]


class ChangeSerializer(PlainChangeSerializer):
    """A change, its current head and the verdict that stands for that head."""

    current_head = serializers.SerializerMethodField(
        help_text="The head that was stated last; empty for none"
    )
    state = serializers.SerializerMethodField(help_text="As stated last")
    checks = serializers.SerializerMethodField(help_text="As stated last")
    merged_sha = serializers.SerializerMethodField()
    standing_verdict = serializers.SerializerMethodField(
        help_text="Of the current head; verdicts for older heads do not count. Empty for none"
    )
    heads = serializers.SerializerMethodField()

    class Meta(PlainChangeSerializer.Meta):
        fields = ["key", "label", "repository", "number", "title", "scope", "current_head", "state",
                  "checks", "merged_sha", "standing_verdict", "heads", *COMMON]  # fmt: skip

    def _row(self, change: Any) -> ChangeRow:
        return self.context["changes"][change.pk]

    def get_current_head(self, change: Any) -> str:
        current = self._row(change).current
        return current.sha if current else ""

    def get_state(self, change: Any) -> str:
        state = self._row(change).state
        return state.state if state else ChangeHead.State.UNSTATED.value

    def get_checks(self, change: Any) -> str:
        state = self._row(change).state
        return state.checks if state else ChangeHead.Checks.UNSTATED.value

    def get_merged_sha(self, change: Any) -> str:
        return self._row(change).merged_sha

    @extend_schema_field(serializers.ChoiceField(choices=VERDICTS))
    def get_standing_verdict(self, change: Any) -> str:
        return self._row(change).standing_verdict

    @extend_schema_field(HeadOfChangeSerializer(many=True))
    def get_heads(self, change: Any) -> Any:
        return HeadOfChangeSerializer(self._row(change).heads, many=True).data


class ChangeHeadSerializer(RecordSerializer):
    """One statement about a head, with the verdict that stands for it."""

    change = KeyOf()
    current = serializers.SerializerMethodField(help_text="Whether it is the change's current head")
    standing_verdict = serializers.SerializerMethodField()

    class Meta:
        model = ChangeHead
        fields = ["key", "change", "sha", "state", "checks", "merged_sha", "note", "current",
                  "standing_verdict", *COMMON]  # fmt: skip

    def get_current(self, head: ChangeHead) -> bool:
        current = self.context["changes"][head.change_id].current
        return current is not None and current.is_called(head.sha)

    @extend_schema_field(serializers.ChoiceField(choices=VERDICTS))
    def get_standing_verdict(self, head: ChangeHead) -> str:
        heads = self.context["changes"][head.change_id].heads
        return next((found.verdict for found in heads if found.is_called(head.sha)), "")


class ReviewSerializer(RecordSerializer):
    """A verdict for one exact head, and what became of it."""

    change = KeyOf()
    carried_from = KeyOf(allow_null=True)
    withdraws = KeyOf(allow_null=True)
    findings = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    stands = serializers.SerializerMethodField()
    fate = serializers.SerializerMethodField(help_text="stands, withdrawn or replaced")
    withdrawn_by = serializers.SerializerMethodField(
        help_text="Key of the review or correction; null for none"
    )
    replaced_by = serializers.SerializerMethodField(help_text="Key of the later verdict; null for none")
    why_not = serializers.SerializerMethodField(help_text="Why it does not stand; empty when it does")

    class Meta:
        model = Review
        fields = ["key", "change", "head_sha", "base_sha", "reviewer", "account", "verdict", "stands",
                  "fate", "withdrawn_by", "replaced_by", "why_not", "findings", "note", "carried_from",
                  "carry_reason", "withdraws", *COMMON]  # fmt: skip

    def _given(self, review: Review) -> GivenVerdict:
        return self.context["verdicts"][review.pk]

    def get_stands(self, review: Review) -> bool:
        return self._given(review).stands

    def get_fate(self, review: Review) -> str:
        return self._given(review).fate

    def get_withdrawn_by(self, review: Review) -> str | None:
        by = self._given(review).withdrawn_by
        return by.key if by else None

    def get_replaced_by(self, review: Review) -> str | None:
        by = self._given(review).replaced_by
        return by.key if by else None

    def get_why_not(self, review: Review) -> str:
        return self._given(review).why_not


class QuestionSerializer(RecordSerializer):
    """Something unproved; ``open`` until the latest mention says that it is answered."""

    open = serializers.SerializerMethodField()
    last_said_by = serializers.SerializerMethodField(
        help_text="Key of the mention that last said it is open; null for none"
    )

    class Meta:
        model = OpenQuestion
        fields = ["key", "text", "open", "last_said_by", *COMMON]

    def get_open(self, question: OpenQuestion) -> bool:
        return question.pk in self.context["open"]

    def get_last_said_by(self, question: OpenQuestion) -> str | None:
        standing = self.context["open"].get(question.pk)
        return standing.last_said.key if standing and standing.last_said else None


class WitnessSerializer(RecordSerializer):
    """One admission decision, what happened, and what follows from the two. Sizes are bytes."""

    witness_class = serializers.SerializerMethodField(
        help_text="Derived from decision, outcome and measurements"
    )
    scored = serializers.SerializerMethodField(help_text="Whether it ran to a result")
    under_estimated = serializers.SerializerMethodField(help_text="null when that cannot be said")
    conditional = serializers.SerializerMethodField(help_text="Some interval starts after admission")
    measured_bytes = serializers.SerializerMethodField(help_text="Largest measured increment")
    margin_bytes = serializers.SerializerMethodField(help_text="Usable less required")
    measurements = serializers.SerializerMethodField(help_text="Keys of what was measured")
    same_shape_as = KeyOf(allow_null=True)
    contradicted_by = KeyOf(allow_null=True)

    class Meta:
        model = Witness
        fields = ["key", "title", "model_name", "hardware", "packed_tokens", "logical_tokens", "decision",
                  "trusted", "policy_revision", "required_bytes", "required_words", "usable_bytes",
                  "usable_words", "outcome", "witness_class", "scored", "under_estimated", "conditional",
                  "measured_bytes", "margin_bytes", "failed_request_bytes", "failed_request_words",
                  "free_bytes", "free_words", "allocated_bytes", "allocated_words", "excess_bytes",
                  "excess_words", "same_shape_as", "contradicted_by", "measurements", "note",
                  *COMMON]  # fmt: skip

    def _scored(self, witness: Witness) -> ScoredWitness:
        return self.context["witnesses"][witness.pk]

    @extend_schema_field(serializers.ChoiceField(choices=CLASSES))
    def get_witness_class(self, witness: Witness) -> str:
        return self._scored(witness).name.value

    def get_scored(self, witness: Witness) -> bool:
        return self._scored(witness).scored

    def get_under_estimated(self, witness: Witness) -> bool | None:
        return self._scored(witness).under_estimated

    def get_conditional(self, witness: Witness) -> bool:
        return self._scored(witness).conditional

    def get_measured_bytes(self, witness: Witness) -> int | None:
        return self._scored(witness).measured_bytes

    def get_margin_bytes(self, witness: Witness) -> int | None:
        return self._scored(witness).margin_bytes

    def get_measurements(self, witness: Witness) -> list[str]:
        return [measurement.key for measurement in self._scored(witness).measurements]


class CountsSerializer(serializers.Serializer):
    """Witnesses by class, the unscored ones beside the rest."""

    by_class = serializers.SerializerMethodField()
    total = serializers.IntegerField()
    scored = serializers.IntegerField()
    unscored = serializers.IntegerField()
    under_estimated = serializers.IntegerField()
    conditional = serializers.IntegerField()
    contradicted = serializers.IntegerField()

    def get_by_class(self, counts: ClassCounts) -> dict[str, int]:
        return {name.value: number for name, number in counts.by_class.items()}


class IssueSerializer(serializers.ModelSerializer):
    """A tracked issue in a line: what holds, since when, and what is open."""

    host = serializers.SerializerMethodField(help_text="Where it lives")
    title = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField(help_text="open, closed or reopened, as the events left it")
    sentence = serializers.SerializerMethodField(help_text="What holds, since when, and what it replaced")
    current_status = serializers.SerializerMethodField(help_text="null when none is stated")
    status_updates = serializers.SerializerMethodField(help_text="How many there are")
    open_questions = serializers.SerializerMethodField(help_text="How many there are")
    witnesses = serializers.SerializerMethodField(help_text="How many there are")
    unscored_witnesses = serializers.SerializerMethodField()

    class Meta:
        model = TrackedIssue
        fields = ["host", "owner", "name", "number", "url", "title", "state", "sentence", "current_status",
                  "status_updates", "open_questions", "witnesses", "unscored_witnesses",
                  "recorded_at"]  # fmt: skip

    def _view(self, issue: TrackedIssue) -> Overview:
        return self.context["views"][issue.pk]

    def get_host(self, issue: TrackedIssue) -> str:
        return issue.host or PUBLIC_HOST

    def get_title(self, issue: TrackedIssue) -> str:
        return self._view(issue).life.title

    def get_state(self, issue: TrackedIssue) -> str:
        return self._view(issue).life.state

    def get_sentence(self, issue: TrackedIssue) -> str:
        return self._view(issue).sentence

    @extend_schema_field(ShortStatusSerializer(allow_null=True))
    def get_current_status(self, issue: TrackedIssue) -> Any:
        current = self._view(issue).current
        return ShortStatusSerializer(current).data if current else None

    def get_status_updates(self, issue: TrackedIssue) -> int:
        return len(self._view(issue).standing)

    def get_open_questions(self, issue: TrackedIssue) -> int:
        return len(self._view(issue).questions)

    def get_witnesses(self, issue: TrackedIssue) -> int:
        return self._view(issue).witnesses.total

    def get_unscored_witnesses(self, issue: TrackedIssue) -> int:
        return self._view(issue).witnesses.unscored


class OpenQuestionSerializer(serializers.Serializer):
    key = serializers.CharField(source="question.key")
    text = serializers.CharField(source="question.text")
    since = serializers.DateField(source="question.stated_day")


class StreamHeadSerializer(serializers.Serializer):
    """The end of the issue's ledger. Keep it: a later history must still contain it."""

    stream = serializers.CharField()
    sequence = serializers.IntegerField()
    sha256 = serializers.CharField(allow_blank=True)


class IssueDetailSerializer(IssueSerializer):
    """What holds about an issue, now or as of a day, and what that rests on."""

    as_of = serializers.SerializerMethodField(help_text="The day or time that was asked about; null for now")
    replaced_status = serializers.SerializerMethodField(help_text="What held before; null for nothing")
    questions = serializers.SerializerMethodField(help_text="What is still unproved, oldest first")
    counts = serializers.SerializerMethodField()
    gap = serializers.SerializerMethodField(help_text="How complete the thread is now; null if not counted")
    related = serializers.SerializerMethodField()
    head = serializers.SerializerMethodField()

    class Meta(IssueSerializer.Meta):
        fields = [*IssueSerializer.Meta.fields, "as_of", "replaced_status", "questions", "counts", "gap",
                  "related", "head"]  # fmt: skip

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_as_of(self, issue: TrackedIssue) -> Any:
        return as_of_text(self.context["as_of"]) or None

    @extend_schema_field(ShortStatusSerializer(allow_null=True))
    def get_replaced_status(self, issue: TrackedIssue) -> Any:
        replaced = self._view(issue).replaced
        return ShortStatusSerializer(replaced).data if replaced else None

    @extend_schema_field(OpenQuestionSerializer(many=True))
    def get_questions(self, issue: TrackedIssue) -> Any:
        return OpenQuestionSerializer(self._view(issue).questions, many=True).data

    @extend_schema_field(CountsSerializer)
    def get_counts(self, issue: TrackedIssue) -> Any:
        return CountsSerializer(self._view(issue).witnesses).data

    @extend_schema_field(GapSerializer(allow_null=True))
    def get_gap(self, issue: TrackedIssue) -> Any:
        return GapSerializer(self.context["gap"]).data if self.context["gap"] else None

    @extend_schema_field(RelatedSerializer(many=True))
    def get_related(self, issue: TrackedIssue) -> Any:
        return RelatedSerializer(self.context["related"], many=True).data

    @extend_schema_field(StreamHeadSerializer)
    def get_head(self, issue: TrackedIssue) -> Any:
        return StreamHeadSerializer(self.context["head"]).data


class StatementSerializer(serializers.Serializer):
    """Any record of the issue by its key, with all its fields and what was said about it later."""

    section = serializers.CharField(help_text="The kind of record, as in an exported file")
    record = serializers.DictField(child=serializers.JSONField(allow_null=True))
    address = serializers.CharField()
    recorded_at = serializers.DateTimeField()
    corrections = serializers.SerializerMethodField(help_text="Keys, oldest first")

    def get_corrections(self, found: dict[str, Any]) -> list[str]:
        return found["corrections"]
