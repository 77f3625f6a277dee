"""Tracked issues, their thread, and what was stated about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Length, Substr
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from admission.api import filters
from admission.api.fields import AS_OF
from admission.api.serializers import records, uploads
from admission.api.serializers.derived import (
    IssueDetailSerializer,
    IssueSerializer,
    QuestionSerializer,
    StatementSerializer,
    StatusSerializer,
)
from admission.api.views.base import Contextual, IssueTable, IssueView, StatedPagination, takes
from admission.models import (
    Correction,
    IssueAddress,
    IssueEvent,
    IssueVersion,
    OpenQuestion,
    Proposal,
    QuestionMention,
    RelatedIssue,
    StatusUpdate,
    ThreadCount,
    ThreadItem,
    TrackedIssue,
)
from admission.services.exchange import as_plain
from admission.services.overview import overview, overviews
from admission.services.standing import corrections, open_questions, statuses, thread_count
from admission.services.summaries import refresh_summaries
from admission.services.timeline import BODY_SHOWN, find_statement
from rlvram_site.api.keys import Scope
from rlvram_site.api.tables import RecordTable
from rlvram_site.ledger.chain import head


class IssuePagination(StatedPagination):
    """What holds is derived issue by issue, so a page is short."""

    page_size = 20
    max_page_size = 50


class IssueList(Contextual, RecordTable):
    """Every tracked issue with what holds."""

    serializer_class = IssueSerializer
    filterset_class = filters.IssueFilter
    pagination_class = IssuePagination
    orderings = {
        "id": "pk", "said": "said_at", "title": "listed_title", "unsafe": "unsafe", "questions": "questions",
    }  # fmt: skip
    csv_name = "issues"

    queryset = TrackedIssue.objects.all()

    def conditional(self, request: Request) -> Response | None:
        """How long nothing was said changes with the clock, not with the ledger."""
        if "unanswered" in request.query_params:
            return None
        return super().conditional(request)

    def get_queryset(self) -> QuerySet:
        refresh_summaries()
        rows = super().get_queryset()
        return rows.annotate(
            said_at=Coalesce("summary__last_said_at", "recorded_at"),
            listed_title=F("summary__title"),
            unsafe=F("summary__unsafe"),
            questions=F("summary__open_questions"),
        )

    def etag_streams(self) -> Iterable[str]:
        return [issue.stream for issue in TrackedIssue.objects.all()]

    def derive(self, rows: Sequence[TrackedIssue]) -> dict[str, Any]:
        return {"views": {view.issue.pk: view for view in overviews(rows)}}


class IssueDetail(IssueView):
    """What holds about an issue, now or as of a day."""

    serializer_class = IssueDetailSerializer

    @extend_schema(parameters=[AS_OF])
    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        for name in request.query_params:
            if name not in ("as_of", "format"):
                raise ValidationError({name[:60]: "is no parameter here, expected as_of"})
        return self.conditional(request) or Response(self.get_serializer(self.issue).data)

    def get_serializer_context(self) -> dict[str, Any]:
        context = {**super().get_serializer_context()}
        if getattr(self, "swagger_fake_view", False):
            return context
        issue, day = self.issue, self.day
        related = issue.relatedissue_rows.order_by("repository", "number", "id")
        return {
            **context,
            "as_of": day,
            "views": {issue.pk: overview(issue, day)},
            "gap": thread_count(issue),
            "related": related,
            "head": head(issue.stream),
        }


class Statement(IssueView):
    """Any record of the issue by its key, whole."""

    serializer_class = StatementSerializer

    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        unchanged = self.conditional(request)
        if unchanged is not None:
            return unchanged
        key = self.kwargs["key"]
        found = None if "\x00" in key else find_statement(self.issue, key)
        if found is None:
            raise NotFound(f"Nothing of {self.issue} is recorded under {key[:120]!r}.")
        row = found.row
        for column in row._meta.concrete_fields:
            getattr(row, column.name)  # so that rows it refers to are named by their keys
        return Response(
            self.get_serializer(
                {
                    "section": found.section,
                    "record": as_plain(row, {}),
                    "address": row.get_absolute_url(),
                    "recorded_at": row.recorded_at,
                    "corrections": [said.key for said in corrections(self.issue).get(key, [])],
                }
            ).data
        )


@takes(uploads.StatusUpload, Scope.STATUS, "status")
class StatusList(Contextual, IssueTable):
    """Status updates, each in its latest wording with what superseded it. Adding one supersedes the rest."""

    serializer_class = StatusSerializer
    filterset_class = filters.StatusFilter
    csv_name = "status-updates"

    queryset = StatusUpdate.objects.filter(revises__isnull=True).defer("body")

    def derive(self, rows: Sequence[StatusUpdate]) -> dict[str, Any]:
        found = {status.original.pk: status for status in statuses(self.issue, self.day)}
        for status in found.values():
            status.original.issue = self.issue
        words = [found[row.pk].update.pk for row in rows if row.pk in found]
        bodies = dict(StatusUpdate.objects.filter(pk__in=words).values_list("pk", "body"))
        return {"standing": found, "bodies": bodies}

    def recorded(self, values: dict[str, Any], stated: str) -> tuple[Any, bool]:
        row, new = super().recorded(values, stated)
        while row.revises is not None:  # the answer is the statement, in this wording
            row = row.revises
        return row, new


class _CutTable(IssueTable):
    """A table of rows with long texts, of which it gives the start."""

    def get_queryset(self) -> QuerySet:
        rows = super().get_queryset().defer("body", "raw")
        return rows.annotate(body_start=Substr("body", 1, BODY_SHOWN), body_length=Length("body"))


class VersionList(_CutTable):
    """Title and body of the issue as exports gave them."""

    serializer_class = records.VersionSerializer
    filterset_class = filters.RecordFilter
    csv_name = "versions"

    queryset = IssueVersion.objects.all()


class ThreadList(_CutTable):
    """Comments and events of the thread, in every wording that was imported."""

    serializer_class = records.ThreadItemSerializer
    filterset_class = filters.ThreadFilter
    csv_name = "thread"

    queryset = ThreadItem.objects.select_related("revises").defer("revises__body", "revises__raw")

    def get_queryset(self) -> QuerySet:
        return super().get_queryset().defer("body", "raw", "revises__body", "revises__raw")


class AddressList(IssueTable):
    """Addresses under which its forge gave the issue. A transferred issue has several."""

    serializer_class = records.AddressSerializer
    filterset_class = filters.RecordFilter
    csv_name = "addresses"

    queryset = IssueAddress.objects.all()


class GapList(IssueTable):
    """How many comments each export counted and held."""

    serializer_class = records.GapSerializer
    filterset_class = filters.RecordFilter
    csv_name = "gaps"

    queryset = ThreadCount.objects.all()


@takes(uploads.EventUpload, Scope.STATUS, "event")
class EventList(IssueTable):
    """Opened, renamed, closed and reopened, with what caused it."""

    serializer_class = records.IssueEventSerializer
    filterset_class = filters.EventFilter
    csv_name = "events"

    queryset = IssueEvent.objects.all()


@takes(uploads.CorrectionUpload, Scope.STATUS, "correction")
class CorrectionList(IssueTable):
    """Corrections and withdrawals of recorded statements, which stay as they were."""

    serializer_class = records.CorrectionSerializer
    filterset_class = filters.CorrectionFilter
    csv_name = "corrections"

    queryset = Correction.objects.all()


@takes(uploads.QuestionUpload, Scope.STATUS, "question")
class QuestionList(Contextual, IssueTable):
    """What was stated as unproved, and whether it still is."""

    serializer_class = QuestionSerializer
    filterset_class = filters.QuestionFilter
    csv_name = "open-questions"

    queryset = OpenQuestion.objects.all()

    def derive(self, rows: Sequence[OpenQuestion]) -> dict[str, Any]:
        return {"open": {q.question.pk: q for q in open_questions(self.issue, self.day)}}


@takes(uploads.MentionUpload, Scope.STATUS, "mention")
class MentionList(IssueTable):
    """What said that a question is still open, or answered."""

    serializer_class = records.MentionSerializer
    filterset_class = filters.MentionFilter
    csv_name = "question-mentions"

    queryset = QuestionMention.objects.select_related("question")


@takes(uploads.RelatedUpload, Scope.STATUS, "related")
class RelatedList(IssueTable):
    """Other issues and changes, and why they are separate."""

    serializer_class = records.RelatedSerializer
    filterset_class = filters.RelatedFilter
    csv_name = "related-issues"

    queryset = RelatedIssue.objects.all()


class ProposalList(IssueTable):
    """What the text suggests recording; staff decide on the issue's page."""

    serializer_class = records.ProposalSerializer
    filterset_class = filters.ProposalFilter
    csv_name = "proposals"

    queryset = Proposal.objects.select_related("decision")
