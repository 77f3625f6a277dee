"""By what tables of an issue can be narrowed. A value that is not understood is an error, never ignored."""

from __future__ import annotations

from itertools import product
from typing import Any

import django_filters as filters
from django.db.models import Q, QuerySet

from admission.api.fields import AsOfFilter
from admission.models import (
    Change,
    ChangeHead,
    Correction,
    IssueEvent,
    IssueSummary,
    LaterFact,
    Measurement,
    OpenQuestion,
    Proposal,
    QuestionMention,
    Receipt,
    RecordedReplay,
    RelatedIssue,
    Review,
    StatusUpdate,
    ThreadItem,
    TrackedIssue,
    Witness,
)
from admission.services.identity import own_host
from admission.services.standing import moment_of, open_questions, until
from admission.services.summaries import IssueQuery, matching
from admission.services.witnesses import UNSCORED, WitnessClass, classify, with_usable_exceeded
from rlvram_site.api.filters import FlagFilter, RecordFilterSet


class IssueFilter(filters.FilterSet):
    owner = filters.CharFilter(lookup_expr="iexact")
    name = filters.CharFilter(lookup_expr="iexact")
    host = filters.CharFilter(method="by_host", label="Where it lives, such as github.com")
    search = filters.CharFilter(method="by_query", label="Words of title, sentence or repository; a number")
    state = filters.ChoiceFilter(method="by_query", choices=[("open", "open"), ("closed", "closed")])
    repository = filters.CharFilter(method="by_query", label="OWNER/NAME")
    unsafe = FlagFilter(method="by_query", label="Whether some admission was unsafe")
    without_verdict = FlagFilter(method="by_query", label="Whether some head has no standing verdict")
    unanswered = FlagFilter(method="by_query", label="Whether it is open and nothing was said for 30 days")

    def by_host(self, queryset: QuerySet, name: str, value: str) -> QuerySet:
        return queryset.filter(host=own_host(value))

    def by_query(self, queryset: QuerySet, name: str, value: Any) -> QuerySet:
        asked: dict[str, Any] = {name: value or True}
        found = IssueSummary.objects.filter(matching(IssueQuery(**asked)))
        listed = found.values("issue")
        return queryset.exclude(pk__in=listed) if value is False else queryset.filter(pk__in=listed)

    class Meta:
        model = TrackedIssue
        fields = ["owner", "name", "number"]


class RecordFilter(RecordFilterSet):
    """What every table of an issue takes."""

    as_of = AsOfFilter()


class StatusFilter(RecordFilter):
    class Meta:
        model = StatusUpdate
        fields = ["kind", "origin", "key"]


class ThreadFilter(RecordFilter):
    class Meta:
        model = ThreadItem
        fields = ["kind", "known", "key"]

    event = filters.CharFilter()
    account = filters.CharFilter()

    def filter_queryset(self, queryset: QuerySet) -> QuerySet:
        """Later wordings count from when they were seen."""
        narrowed = super().filter_queryset(queryset)
        moment = moment_of(self.form.cleaned_data["as_of"])
        if moment is None:
            return narrowed
        seen = Q(seen_at__lte=moment) | Q(seen_at=None, recorded_at__lte=moment)
        return narrowed.filter(Q(revises=None) | seen)


class EventFilter(RecordFilter):
    class Meta:
        model = IssueEvent
        fields = ["kind", "key"]


class CorrectionFilter(RecordFilter):
    class Meta:
        model = Correction
        fields = ["kind", "target", "key"]


class FactFilter(RecordFilter):
    class Meta:
        model = LaterFact
        fields = ["target", "field", "key"]


class ChangeFilter(RecordFilter):
    repository = filters.CharFilter()

    class Meta:
        model = Change
        fields = ["number", "key"]


class OfChangeFilter(RecordFilter):
    """Rows of a change; on a day on which the change was not stated yet there are none."""

    change = filters.CharFilter(field_name="change__key")

    def filter_queryset(self, queryset: QuerySet) -> QuerySet:
        narrowed = super().filter_queryset(queryset)
        return until(narrowed, self.form.cleaned_data["as_of"], "change__")


class HeadFilter(OfChangeFilter):
    class Meta:
        model = ChangeHead
        fields = ["state", "checks", "sha", "key"]


class ReviewFilter(OfChangeFilter):
    reviewer = filters.CharFilter()

    class Meta:
        model = Review
        fields = ["verdict", "head_sha", "key"]


class ReceiptFilter(RecordFilter):
    class Meta:
        model = Receipt
        fields = ["access", "independent", "sha256", "key"]


class QuestionFilter(RecordFilter):
    open = FlagFilter(method="by_open", label="Whether it is still unproved")

    class Meta:
        model = OpenQuestion
        fields = ["key"]

    def by_open(self, queryset: QuerySet, name: str, value: bool) -> QuerySet:
        issue = self.request.parser_context["view"].issue
        still = [q.question.pk for q in open_questions(issue, self.form.cleaned_data["as_of"])]
        return queryset.filter(pk__in=still) if value else queryset.exclude(pk__in=still)


class MentionFilter(RecordFilter):
    question = filters.CharFilter(field_name="question__key")

    class Meta:
        model = QuestionMention
        fields = ["says", "key"]


class RelatedFilter(RecordFilter):
    repository = filters.CharFilter()

    class Meta:
        model = RelatedIssue
        fields = ["number", "key"]


def _pairs(names: set[Any]) -> Q:
    """Rows of the classes ``names``, among rows that say whether more than the usable was measured."""
    found = Q(pk__in=[])
    for decision, outcome, exceeded in product(
        Witness.Decision.values, Witness.Outcome.values, (False, True)
    ):
        if classify(decision, outcome, usable_exceeded=exceeded) in names:
            found |= Q(decision=decision, outcome=outcome, usable_exceeded=exceeded)
    return found


class WitnessFilter(RecordFilter):
    witness_class = filters.ChoiceFilter(
        method="by_class", choices=[(name.value, name.value) for name in WitnessClass]
    )
    scored = FlagFilter(method="by_scored", label="Whether it ran to a result")

    class Meta:
        model = Witness
        fields = ["decision", "outcome", "trusted", "key"]

    def by_class(self, queryset: QuerySet, name: str, value: str) -> QuerySet:
        rows = with_usable_exceeded(queryset, self.form.cleaned_data["as_of"])
        return rows.filter(_pairs({WitnessClass(value)}))

    def by_scored(self, queryset: QuerySet, name: str, value: bool) -> QuerySet:
        rows, unscored = with_usable_exceeded(queryset), _pairs({*UNSCORED})
        return rows.exclude(unscored) if value else rows.filter(unscored)


class OfWitnessFilter(RecordFilter):
    witness = filters.CharFilter(field_name="witness__key")


class MeasurementFilter(OfWitnessFilter):
    class Meta:
        model = Measurement
        fields = ["basis", "starts_after_admission", "key"]


class ReplayFilter(OfWitnessFilter):
    class Meta:
        model = RecordedReplay
        fields = ["key"]


class ProposalFilter(RecordFilter):
    decided = FlagFilter(field_name="decision", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Proposal
        fields = ["kind", "key"]
