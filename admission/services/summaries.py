"""The list of issues: searched, filtered, sorted and cut into pages by the database.

What holds is derived issue by issue, so each issue has a summary beside it, which is made anew when the
issue's
ledger has grown. Making it costs the same few queries for one issue as for ``AT_ONCE``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from admission.models import IssueSummary, ThreadItem, TrackedIssue
from admission.services.overview import Overview, overviews
from admission.services.witnesses import WitnessClass
from rlvram_site.ledger.models import LedgerEntry, LedgerStream

AT_ONCE = 500
UNANSWERED = dt.timedelta(days=30)
CARDS = 12
"""Issues on the home page, those last spoken about."""

STATES = {"open": "open", "closed": "closed"}
ORDERINGS = {
    "said": "last_said_at",
    "title": "title",
    "repository": "issue__owner",
    "opened": "opened_on",
    "unsafe": "unsafe",
    "questions": "open_questions",
}


@dataclass(frozen=True)
class IssueQuery:
    """What somebody looks for in the list. Empty fields ask for nothing."""

    search: str = ""
    state: str = ""
    repository: str = ""
    unsafe: bool = False
    without_verdict: bool = False
    unanswered: bool = False
    ordering: str = "-said"


def refresh_summaries() -> None:
    """Make the summaries of issues that grew since; one query where none did."""
    ends = LedgerEntry.objects.filter(stream=OuterRef("summary__stream")).order_by("-sequence")
    grown = TrackedIssue.objects.annotate(end=Subquery(ends.values("sequence")[:1])).exclude(
        summary__isnull=False, summary__sequence=Coalesce("end", 0)
    )
    while stale := list(grown.order_by("pk")[:AT_ONCE]):
        _make(stale)


def _make(issues: Sequence[TrackedIssue]) -> None:
    # The ledger's ends are read first: what is added meanwhile makes the summary stale, never wrongly fresh.
    streams = {s.name: s for s in LedgerStream.objects.filter(name__in=[issue.stream for issue in issues])}
    ends = dict(
        LedgerEntry.objects.filter(stream__in=streams.values())
        .order_by()
        .values("stream")
        .annotate(end=Max("sequence"))
        .values_list("stream", "end")
    )
    said = dict(
        ThreadItem.objects.filter(issue__in=issues, kind=ThreadItem.Kind.COMMENT)
        .order_by()
        .values("issue")
        .annotate(last=Max("sort_at"))
        .values_list("issue", "last")
    )
    rows = [
        _summary(
            view, streams[view.issue.stream], ends[streams[view.issue.stream].pk], said.get(view.issue.pk)
        )
        for view in overviews(issues)
    ]
    columns = [f.name for f in IssueSummary._meta.concrete_fields if f.name not in ("id", "issue")]
    IssueSummary.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["issue"], update_fields=columns
    )


def _summary(
    view: Overview, stream: LedgerStream, sequence: int, commented: dt.datetime | None
) -> IssueSummary:
    said = [status.original.sort_at for status in view.standing if not status.dated_ahead]
    said += [event.sort_at for event in view.life.events]
    said += [g.review.sort_at for row in view.changes for head in row.heads for g in head.verdicts]
    if commented is not None:
        said.append(commented)
    return IssueSummary(
        issue=view.issue,
        stream=stream,
        sequence=sequence,
        title=view.life.title,
        state=view.life.state[:40],
        is_open=view.life.is_open,
        sentence=view.sentence,
        opened_on=view.life.opened.stated_day if view.life.opened else None,
        last_said_at=max(said, default=None),
        status_updates=len(view.standing),
        open_questions=len(view.questions),
        witnesses=view.witnesses.total,
        scored=view.witnesses.scored,
        unsafe=view.witnesses.by_class[WitnessClass.UNSAFE_ADMISSION],
        without_verdict=len(view.without_verdict),
    )


def matching(query: IssueQuery, now: dt.datetime | None = None) -> Q:
    """The condition on summaries that ``query`` means."""
    condition = Q()
    for word in query.search.split()[:10]:
        found = Q(title__icontains=word) | Q(sentence__icontains=word)
        found |= Q(issue__owner__icontains=word) | Q(issue__name__icontains=word)
        number = word.lstrip("#")
        if number.isascii() and number.isdecimal() and int(number) < 2**31:
            found |= Q(issue__number=int(number))
        condition &= found
    if query.state in STATES:
        condition &= Q(is_open=query.state == "open")
    if query.repository:
        owner, _, name = query.repository.rpartition("/")
        condition &= Q(issue__name__iexact=name)
        if owner:
            host, _, owner = owner.rpartition("/")
            condition &= Q(issue__owner__iexact=owner, issue__host=host.lower() or None)
    if query.unsafe:
        condition &= Q(unsafe__gt=0)
    if query.without_verdict:
        condition &= Q(without_verdict__gt=0)
    if query.unanswered:
        before = (now or dt.datetime.now(dt.UTC)) - UNANSWERED
        condition &= Q(is_open=True) & (Q(last_said_at__lt=before) | Q(last_said_at=None))
    return condition


def summaries(query: IssueQuery | None = None) -> QuerySet[IssueSummary]:
    """The issues that ``query`` asks for, in its order."""
    refresh_summaries()
    query = query or IssueQuery()
    down = query.ordering.startswith("-")
    column = ORDERINGS.get(query.ordering.removeprefix("-"), "last_said_at")
    return (
        IssueSummary.objects.filter(matching(query))
        .select_related("issue")
        .order_by(f"-{column}" if down else column, "issue__owner", "issue__name", "issue__number", "pk")
    )


def repositories() -> list[str]:
    """The repositories that have tracked issues, as the list's filter names them; at most 500."""
    rows = (
        TrackedIssue.objects.order_by("owner", "name", "host").values_list("host", "owner", "name").distinct()
    )
    return [f"{host}/{owner}/{name}" if host else f"{owner}/{name}" for host, owner, name in rows[:500]]
