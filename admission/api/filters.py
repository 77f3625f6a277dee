"""By what tables of an issue can be narrowed. A value that is not understood is an error, never ignored."""

from __future__ import annotations

import datetime as dt
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
from admission.services.standing import open_questions
from admission.services.witnesses import UNSCORED, WitnessClass, classify, with_usable_exceeded
from rlvram_site.api.filters import FlagFilter, RecordFilterSet


class IssueFilter(filters.FilterSet):
    owner = filters.CharFilter(lookup_expr="iexact")
    name = filters.CharFilter(lookup_expr="iexact")

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


class EventFilter(RecordFilter):
    class Meta:
        model = IssueEvent
        fields = ["kind", "key"]


class CorrectionFilter(RecordFilter):
    class Meta:
        model = Correction
        fields = ["kind", "target", "key"]


class ChangeFilter(RecordFilter):
    repository = filters.CharFilter()

    class Meta:
        model = Change
        fields = ["number", "key"]


class OfChangeFilter(RecordFilter):
    """Rows of a change; on a day on which the change was not stated yet there are none."""

    change = filters.CharFilter(field_name="change__key")

    def filter_queryset(self, queryset: QuerySet) -> QuerySet:
        day: dt.date | None = self.form.cleaned_data["as_of"]
        narrowed = super().filter_queryset(queryset)
        return narrowed if day is None else narrowed.filter(change__stated_day__lte=day)


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
