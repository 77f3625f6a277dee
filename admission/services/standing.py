"""What holds: the current status, what it superseded, the issue's title and state, and its open questions.

Every function takes ``as_of``: only what was stated up to the end of that day counts then.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from admission.models import (
    Correction,
    IssueEvent,
    OpenQuestion,
    QuestionMention,
    StatusUpdate,
    ThreadCount,
    TrackedIssue,
)


def until(rows: QuerySet[Any], as_of: dt.date | None) -> QuerySet[Any]:
    """``rows`` without those that were stated after ``as_of``."""
    return rows if as_of is None else rows.filter(stated_day__lte=as_of)


@dataclass
class StandingStatus:
    """A status update as it stands: its latest wording, and what became of it.

    ``update`` is the latest revision and ``original`` the row first recorded (the same one for most).
    """

    update: StatusUpdate
    original: StatusUpdate
    superseded_by: StatusUpdate | None = None
    corrections: list[Correction] = field(default_factory=list)

    @property
    def withdrawn(self) -> Correction | None:
        return next((c for c in self.corrections if c.kind == Correction.Kind.WITHDRAWAL), None)

    @property
    def current(self) -> bool:
        return self.superseded_by is None and self.withdrawn is None


def statuses(issue: TrackedIssue, as_of: dt.date | None = None) -> list[StandingStatus]:
    """Every status update, newest first, each with what superseded it. Bodies are loaded when asked for.

    The newest that is not withdrawn is current, and each supersedes the ones before it. A withdrawn one
    supersedes nothing.
    """
    rows = until(issue.statusupdate_rows.all().defer("body"), as_of)
    found: dict[int, StandingStatus] = {}
    for row in rows.order_by("id"):
        if row.revises_id is None or row.revises_id not in found:
            found[row.pk] = StandingStatus(row, row)
        else:
            standing = found[row.revises_id]
            standing.update = row
            found[row.pk] = standing
    distinct = {id(standing): standing for standing in found.values()}
    ordered = sorted(distinct.values(), key=lambda s: (s.original.sort_at, s.original.pk))
    said = corrections(issue, as_of)
    later: StatusUpdate | None = None
    for standing in reversed(ordered):
        keys = {standing.original.key, standing.update.key}
        standing.corrections = [c for key in sorted(keys) for c in said.get(key, [])]
        standing.superseded_by = later
        if standing.withdrawn is None:
            later = standing.update
    return list(reversed(ordered))


def current_status(standing: Sequence[StandingStatus]) -> StandingStatus | None:
    """The one that holds, among ``statuses(issue, as_of)``."""
    return next((status for status in standing if status.current), None)


def superseded_by_current(standing: Sequence[StandingStatus]) -> StandingStatus | None:
    """What held before the current one."""
    current = current_status(standing)
    if current is None:
        return None
    return next((s for s in standing if s.superseded_by == current.update and s.withdrawn is None), None)


def corrections(issue: TrackedIssue, as_of: dt.date | None = None) -> dict[str, list[Correction]]:
    """What was said later about recorded statements, by the key of the statement, oldest first."""
    found: dict[str, list[Correction]] = defaultdict(list)
    for correction in until(issue.correction_rows.all(), as_of).order_by("sort_at", "id"):
        found[correction.target].append(correction)
    return dict(found)


@dataclass(frozen=True)
class Lifecycle:
    """Title and state as the events left them. ``last`` is the latest closing or reopening."""

    title: str
    state: str
    last: IssueEvent | None
    events: list[IssueEvent]


def lifecycle(issue: TrackedIssue, as_of: dt.date | None = None) -> Lifecycle:
    """Title and state of the issue, from its events; the text's latest version where events say nothing."""
    events = list(until(issue.issueevent_rows.all(), as_of).order_by("sort_at", "id"))
    last = next(
        (e for e in reversed(events) if e.kind in (IssueEvent.Kind.CLOSED, IssueEvent.Kind.REOPENED)), None
    )
    version = until(issue.issueversion_rows.all().defer("body"), as_of).order_by("-number").first()
    titled = next((event for event in reversed(events) if event.after), None)
    title = titled.after if titled else version.title if version else str(issue)
    if version and (titled is None or version.sort_at > titled.sort_at):
        title = version.title
    if last is not None:
        state = last.get_kind_display()
    elif version is not None:
        given = version.raw.get("state_reason") or version.raw.get("state") or "open"
        state = str(given).replace("_", " ")
    else:
        state = "open"
    return Lifecycle(title, state, last, events)


@dataclass(frozen=True)
class StandingQuestion:
    """An open question, who last said that it is open, and for how many days it has been."""

    question: OpenQuestion
    last_said: QuestionMention | None
    age_days: int


def open_questions(
    issue: TrackedIssue, as_of: dt.date | None = None, today: dt.date | None = None
) -> list[StandingQuestion]:
    """What is still unproved, oldest first. Ages are counted to ``as_of``, else to ``today``."""
    rows = until(issue.openquestion_rows.all(), as_of).order_by("sort_at", "id")
    latest: dict[int, QuestionMention] = {}
    mentions = until(issue.questionmention_rows.all(), as_of).order_by("sort_at", "id")
    for mention in mentions:
        latest[mention.question_id] = mention
    until_day = as_of or today or dt.datetime.now(dt.UTC).date()
    return [
        StandingQuestion(row, latest.get(row.pk), max(0, (until_day - row.stated_day).days))
        for row in rows
        if row.pk not in latest or latest[row.pk].says == QuestionMention.Says.OPEN
    ]


def thread_count(issue: TrackedIssue) -> ThreadCount | None:
    """How complete the thread is: the latest count."""
    return issue.threadcount_rows.all().order_by("-id").first()


def stated_days(issue: TrackedIssue) -> list[dt.date]:
    """The days on which the status or the state changed, newest first: what "as of" can usefully ask for."""
    days = set(issue.statusupdate_rows.all().values_list("stated_day", flat=True))
    days |= set(issue.issueevent_rows.all().values_list("stated_day", flat=True))
    return sorted(days, reverse=True)
