"""What holds: the current status, what it superseded, the issue's title and state, and its open questions.

Every function takes ``as_of``, a moment or a day (its end in UTC): only what was stated by then counts, in
the
words that were seen or dated by then. What was dated ahead of the moment at which it was seen never holds.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet

from admission.dates import Precision
from admission.models import (
    Correction,
    IssueEvent,
    IssueVersion,
    OpenQuestion,
    QuestionMention,
    StatusUpdate,
    ThreadCount,
    TrackedIssue,
)
from admission.models.base import Origin
from rlvram_site.as_of import is_end_of_day, moment_of

AsOf = dt.date | dt.datetime | None
"""A moment, a day (its end in UTC), or None for now."""


def until(rows: QuerySet[Any], as_of: AsOf, prefix: str = "") -> QuerySet[Any]:
    """``rows`` without those that were stated after ``as_of``; ``prefix`` leads to the row that was stated.

    A statement of which only the day is known was made by the end of that day, and no earlier for certain.
    """
    moment = moment_of(as_of)
    if moment is None:
        return rows
    whole = moment.date() if is_end_of_day(moment) else moment.date() - dt.timedelta(days=1)
    only_day = Q(**{f"{prefix}stated_precision": Precision.DAY.value})
    return rows.filter(
        (only_day & Q(**{f"{prefix}stated_day__lte": whole}))
        | (~only_day & Q(**{f"{prefix}sort_at__lte": moment}))
    )


def worded_by(row: Any, as_of: AsOf, first: Any) -> bool:
    """Whether a later wording ``row`` of the statement ``first`` was seen, or dated, by ``as_of``.

    The source's own words count from the start where only a record's summary stood before them.
    """
    moment = moment_of(as_of)
    if moment is None or row.pk == first.pk:
        return True
    summary = first.origin == Origin.RECORD and row.origin == Origin.THREAD
    if summary and row.revises_id == first.pk and not words_were_edited(row):
        return True
    if row.sort_at != first.sort_at:
        return row.sort_at <= moment  # somebody dated the new words
    return row.known_at <= moment


def words_were_edited(row: Any) -> bool:
    """Whether the first words that were seen are not certainly those that were written.

    A dated statement vouches for its own day. A comment's source says when it was edited; the report that
    opened an issue has no date of its own, so a body that was edited since leaves open what it said before.
    """
    if row.seen_at is None or (isinstance(row, StatusUpdate) and row.kind != StatusUpdate.Kind.REPORT):
        return False
    slack = dt.timedelta(days=1) if row.stated_precision == Precision.DAY else dt.timedelta(0)
    return row.seen_at > row.sort_at + slack


def words_are_kept(row: Any, as_of: AsOf) -> bool:
    """Whether ``row`` holds what its statement said at ``as_of``; else it was edited later, unkept."""
    moment = moment_of(as_of)
    return moment is None or not words_were_edited(row) or row.known_at <= moment


@dataclass
class StandingStatus:
    """A status update as it stands: its latest wording, and what became of it.

    ``update`` is the latest wording and ``original`` the row first recorded (the same one for most).
    ``kept`` is False where the statement was edited after the moment asked about and no earlier text is kept.
    """

    update: StatusUpdate
    original: StatusUpdate
    superseded_by: StatusUpdate | None = None
    corrections: list[Correction] = field(default_factory=list)
    kept: bool = True

    @property
    def claim(self) -> str:
        """What it claims in short: a record's summary, until its source says the same in other words."""
        own_words = self.original.origin == Origin.RECORD and self.update.origin == Origin.THREAD
        summary = own_words and self.update.revises_id == self.original.pk
        return self.original.claim if summary else self.update.claim

    @property
    def dated_ahead(self) -> bool:
        """Whether its date was still to come when it was seen last."""
        return self.update.dated_ahead

    @property
    def withdrawn(self) -> Correction | None:
        return next((c for c in self.corrections if c.kind == Correction.Kind.WITHDRAWAL), None)

    @property
    def current(self) -> bool:
        return self.superseded_by is None and self.withdrawn is None and not self.dated_ahead


def statuses(issue: TrackedIssue, as_of: AsOf = None) -> list[StandingStatus]:
    """Every status update, newest first, each with what superseded it. Bodies are loaded when asked for.

    The newest that is not withdrawn is current, and each supersedes the ones before it. A withdrawn one
    supersedes nothing, nor does one that was dated ahead.
    """
    return standing_of(
        until(issue.statusupdate_rows.all(), as_of).defer("body"), corrections(issue, as_of), as_of
    )


def standing_of(
    rows: Iterable[StatusUpdate], said: dict[str, list[Correction]], as_of: AsOf = None
) -> list[StandingStatus]:
    """``statuses`` of one issue's ``rows`` stated by ``as_of``, and of what was said about them."""
    found: dict[int, StandingStatus] = {}
    for row in sorted(rows, key=lambda row: row.pk):
        if row.revises_id is None or row.revises_id not in found:
            found[row.pk] = StandingStatus(row, row, kept=words_are_kept(row, as_of))
        else:
            standing = found[row.pk] = found[row.revises_id]
            if worded_by(row, as_of, standing.original):
                standing.update, standing.kept = row, True
    distinct = {id(standing): standing for standing in found.values()}
    ordered = sorted(distinct.values(), key=lambda s: (s.original.sort_at, s.original.pk))
    later: StatusUpdate | None = None
    for standing in reversed(ordered):
        keys = {standing.original.key, standing.update.key}
        standing.corrections = [c for key in sorted(keys) for c in said.get(key, [])]
        standing.superseded_by = later
        if standing.withdrawn is None and not standing.dated_ahead:
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
    before = (s for s in standing if s.superseded_by == current.update)
    return next((s for s in before if s.withdrawn is None and not s.dated_ahead), None)


def corrections(issue: TrackedIssue, as_of: AsOf = None) -> dict[str, list[Correction]]:
    """What was said later about recorded statements, by the key of the statement, oldest first."""
    return by_target(until(issue.correction_rows.all(), as_of).order_by("sort_at", "id"))


def by_target(rows: Iterable[Correction]) -> dict[str, list[Correction]]:
    """Corrections by the key of what they are about, without those that were dated ahead."""
    found: dict[str, list[Correction]] = defaultdict(list)
    for correction in rows:
        if not correction.dated_ahead:
            found[correction.target].append(correction)
    return dict(found)


NOT_OPENED = "not opened"


@dataclass(frozen=True)
class Lifecycle:
    """Title and state as the events left them.

    ``last`` is the latest closing or reopening. ``opened`` is the opening, also where that is still to come:
    the state is then ``not opened``. ``contradiction`` says where the export's state and its events differ.
    """

    title: str
    state: str
    last: IssueEvent | None
    events: list[IssueEvent]
    opened: IssueEvent | None = None
    contradiction: str = ""

    @property
    def is_open(self) -> bool:
        return self.state in ("open", "reopened")

    @property
    def closings(self) -> list[IssueEvent]:
        """Every closing, in time."""
        return [event for event in self.events if event.kind == IssueEvent.Kind.CLOSED]


def lifecycle(issue: TrackedIssue, as_of: AsOf = None) -> Lifecycle:
    """Title and state of the issue, from its events; the text's latest version where events say nothing."""
    version = until(issue.issueversion_rows.all().defer("body"), as_of).order_by("-number").first()
    return lifecycle_of(issue, issue.issueevent_rows.all(), version, as_of)


def lifecycle_of(
    issue: TrackedIssue, rows: Iterable[IssueEvent], version: IssueVersion | None, as_of: AsOf = None
) -> Lifecycle:
    """``lifecycle`` from all of an issue's events and the latest version of its text by ``as_of``."""
    everything = sorted((e for e in rows if not e.dated_ahead), key=lambda e: (e.sort_at, e.pk))
    opened = next((e for e in everything if e.kind == IssueEvent.Kind.OPENED), None)
    events = [event for event in everything if stated_by(event, as_of)]
    if opened is not None and opened not in events:
        return Lifecycle(opened.after or str(issue), NOT_OPENED, None, [], opened)
    last = next(
        (e for e in reversed(events) if e.kind in (IssueEvent.Kind.CLOSED, IssueEvent.Kind.REOPENED)), None
    )
    titled = next((event for event in reversed(events) if event.after), None)
    title = titled.after if titled else version.title if version else str(issue)
    if version and (titled is None or version.sort_at > titled.sort_at):
        title = version.title
    given = str(version.raw.get("state") or "open") if version else "open"
    if last is not None:
        state = last.get_kind_display()
    else:
        reason = str(version.raw.get("state_reason") or "") if version else ""
        state = (reason or given).replace("_", " ") if given == "closed" or reason == "reopened" else given
    return Lifecycle(title, state, last, events, opened, _contradiction(version, given, last))


def stated_by(row: Any, as_of: AsOf) -> bool:
    """Whether ``row`` was stated by ``as_of``; the rule of ``until`` for a row at hand."""
    moment = moment_of(as_of)
    if moment is None:
        return True
    if row.stated_precision != Precision.DAY:
        return row.sort_at <= moment
    whole = moment.date() if is_end_of_day(moment) else moment.date() - dt.timedelta(days=1)
    return row.stated_day <= whole


def _contradiction(version: IssueVersion | None, given: str, last: IssueEvent | None) -> str:
    if version is None or given not in ("open", "closed"):
        return ""
    by_events = "closed" if last is not None and last.kind == IssueEvent.Kind.CLOSED else "open"
    if given == by_events or (last is not None and last.sort_at > version.sort_at):
        return ""
    missing = "closes" if given == "closed" else "reopens"
    return (
        f"The export of {version.stated_words or version.stated_day} says {given}, "
        f"but no event of the thread {missing} the issue."
    )


@dataclass(frozen=True)
class StandingQuestion:
    """An open question, who last said that it is open, and for how many days it has been."""

    question: OpenQuestion
    last_said: QuestionMention | None
    age_days: int


def open_questions(
    issue: TrackedIssue, as_of: AsOf = None, today: dt.date | None = None
) -> list[StandingQuestion]:
    """What is still unproved, oldest first. Ages are counted to ``as_of``, else to ``today``."""
    return questions_of(
        until(issue.openquestion_rows.all(), as_of),
        until(issue.questionmention_rows.all(), as_of),
        as_of,
        today,
    )


def questions_of(
    rows: Iterable[OpenQuestion],
    mentions: Iterable[QuestionMention],
    as_of: AsOf = None,
    today: dt.date | None = None,
) -> list[StandingQuestion]:
    """``open_questions`` of one issue's rows, which were stated by ``as_of``."""
    latest: dict[int, QuestionMention] = {}
    for mention in sorted(mentions, key=lambda row: (row.sort_at, row.pk)):
        if not mention.dated_ahead:
            latest[mention.question_id] = mention
    moment = moment_of(as_of)
    until_day = moment.date() if moment else today or dt.datetime.now(dt.UTC).date()
    return [
        StandingQuestion(row, latest.get(row.pk), max(0, (until_day - row.stated_day).days))
        for row in sorted(rows, key=lambda row: (row.sort_at, row.pk))
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
