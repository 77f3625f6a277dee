"""Everything about an issue in time. The database merges, filters and cuts it into pages.

Whatever the thread's length, a page costs the same number of queries.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Substr

from admission.models import (
    ChangeHead,
    Correction,
    IssueEvent,
    OpenQuestion,
    RelatedIssue,
    Review,
    StatusUpdate,
    ThreadItem,
    TrackedIssue,
    Witness,
)
from admission.models.base import IssueRecord, Origin
from admission.services.exchange import SECTIONS
from admission.services.importing import DELETED
from admission.services.standing import (
    AsOf,
    StandingStatus,
    corrections,
    statuses,
    until,
    worded_by,
    words_are_kept,
)

MOST_WORDS = 8
"""Words of a search that count; the rest is left out."""

BODY_SHOWN = 20_000
"""Characters of a body that a list shows; the statement's own page has more, its text address all."""

# The three are recorded as events of the issue as well, with title or cause.
_SHOWN_AS_ISSUE_EVENTS = ("closed", "reopened", "renamed")

KINDS: dict[str, tuple[type[IssueRecord], str]] = {
    "status": (StatusUpdate, "status updates"),
    "issue": (IssueEvent, "closed, reopened, renamed"),
    "head": (ChangeHead, "heads"),
    "review": (Review, "reviews"),
    "witness": (Witness, "witnesses"),
    "correction": (Correction, "corrections"),
    "comment": (ThreadItem, "comments"),
    "event": (ThreadItem, "other events"),
    "question": (OpenQuestion, "open questions"),
    "related": (RelatedIssue, "related issues"),
}


@dataclass
class Entry:
    """One line of the timeline: a row, its latest wording, and what was said about it later.

    ``words`` is the row that words a comment, ``kept`` False where no text is kept from the moment asked
    about.
    """

    kind: str
    row: Any
    body: str = ""
    cut: bool = False
    status: StandingStatus | None = None
    words: Any = None
    kept: bool = True
    corrections: list[Correction] = field(default_factory=list)

    @property
    def deleted(self) -> bool:
        """Whether its thread no longer has the comment."""
        return self.words is not None and self.words.event == DELETED

    @property
    def edited(self) -> bool:
        """Whether the words shown are not the first ones."""
        if self.words is None or self.words.pk == self.row.pk or self.deleted:
            return False
        # A record's summary in the source's own words is no edit.
        return not (self.row.origin == Origin.RECORD and self.words.revises_id == self.row.pk)

    @property
    def dated_ahead(self) -> bool:
        """Whether its date was still to come when it was seen."""
        return self.status.dated_ahead if self.status else self.row.dated_ahead

    @property
    def superseded(self) -> bool:
        return bool(self.status and not self.status.current) or any(
            c.kind in (Correction.Kind.WITHDRAWAL, Correction.Kind.SUPERSEDED) for c in self.corrections
        )


# Where the words of each kind stand. A comment's and a status update's later wordings count as well.
_SEARCHED = {
    "status": ("claim", "body", "signed_name", "account"),
    "issue": ("cause", "before", "after"),
    "head": ("sha", "merged_sha", "note", "change__title", "change__number"),
    "review": ("head_sha", "reviewer", "verdict", "note", "carry_reason", "change__title", "change__number"),
    "witness": ("title", "note", "model_name", "hardware", "policy_revision"),
    "correction": ("target", "text"),
    "comment": ("body", "signed_name", "account"),
    "event": ("event", "account"),
    "question": ("text",),
    "related": ("repository", "number", "title", "why_separate"),
}


def _with_words(rows: QuerySet[Any], issue: TrackedIssue, kind: str, words: str) -> QuerySet[Any]:
    """Those in which each of the words occurs; ``#898`` is a number, wherever one stands."""
    model, _ = KINDS[kind]
    for word in words.split()[:MOST_WORDS]:
        said = Q(*((f"{name}__icontains", word.lstrip("#")) for name in _SEARCHED[kind]), _connector=Q.OR)
        found = said
        if kind in ("comment", "status"):
            revised = issue.rows(model).filter(said, revises__isnull=False)
            found = said | Q(pk__in=revised.order_by().values("revises"))
        rows = rows.filter(found)
    return rows


def _rows(issue: TrackedIssue, kind: str, as_of: AsOf, words: str = "") -> QuerySet[Any]:
    model, _ = KINDS[kind]
    rows = _with_words(until(issue.rows(model), as_of), issue, kind, words)
    if kind == "comment":
        return rows.filter(kind=ThreadItem.Kind.COMMENT, revises__isnull=True)
    if kind == "event":
        return rows.filter(kind=ThreadItem.Kind.EVENT, revises__isnull=True).exclude(
            event__in=_SHOWN_AS_ISSUE_EVENTS
        )
    return rows.filter(revises__isnull=True) if kind == "status" else rows


class Timeline:
    """The entries of an issue, newest first, as Django's paginator wants them: ``count`` and slices."""

    def __init__(self, issue: TrackedIssue, as_of: AsOf = None, kind: str = "", words: str = "") -> None:
        self.issue, self.as_of, self.words = issue, as_of, words
        self.kinds = [kind] if kind in KINDS else list(KINDS)
        self._standing: list[StandingStatus] | None = None

    def _merged(self) -> Any:
        parts = [
            _rows(self.issue, kind, self.as_of, self.words)
            .order_by()
            .annotate(part=Value(kind))
            .values_list("part", "pk", "sort_at")
            for kind in self.kinds
        ]
        return parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]

    def count(self) -> int:
        return self._merged().count()

    def __len__(self) -> int:
        return self.count()

    def __getitem__(self, part: slice) -> list[Entry]:
        found = list(self._merged().order_by("-sort_at", "part", "-pk")[part])
        wanted: dict[str, list[int]] = defaultdict(list)
        for kind, pk, _ in found:
            wanted[kind].append(pk)
        rows = {(kind, row.pk): row for kind, pks in wanted.items() for row in _loaded(kind, pks)}
        said = corrections(self.issue, self.as_of)
        standing = {s.original.pk: s for s in statuses(self.issue, self.as_of)} if "status" in wanted else {}
        words = self._worded([rows["comment", pk] for pk in wanted.get("comment", [])])
        texts = self._texts(
            [standing[pk].update.pk for pk in wanted.get("status", [])], [row.pk for row in words.values()]
        )
        entries = []
        for kind, pk, _ in found:
            entry = Entry(kind, rows[kind, pk])
            if kind == "status":
                entry.status = standing[pk]
                entry.row, entry.kept = entry.status.update, entry.status.kept
            if kind == "comment":
                entry.words, entry.kept = words[pk], words_are_kept(words[pk], self.as_of)
            worded = entry.words.pk if entry.words is not None else entry.row.pk
            text = texts.get((kind, worded), "") if entry.kept else ""
            entry.body, entry.cut = text[:BODY_SHOWN], len(text) > BODY_SHOWN
            keys = {rows[kind, pk].key, entry.row.key}
            entry.corrections = [c for key in sorted(keys) for c in said.get(key, [])]
            entries.append(entry)
        return entries

    def _worded(self, comments: list[ThreadItem]) -> dict[int, ThreadItem]:
        """The row that words each comment, as it was seen or dated by then."""
        words = {row.pk: row for row in comments}
        if not words:
            return {}
        roots = {row.pk: row for row in comments}
        rows = self.issue.threaditem_rows.filter(revises__isnull=False).order_by("id").defer("body", "raw")
        for row in rows:
            root = roots.get(row.revises_id or 0)
            if root is None:
                continue
            roots[row.pk] = root
            if worded_by(row, self.as_of, root):
                words[root.pk] = row
        return words

    def _texts(self, status_pks: list[int], comment_pks: list[int]) -> dict[tuple[str, int], str]:
        # One character more than is shown tells whether something was cut.
        cut = Substr("body", 1, BODY_SHOWN + 1)
        texts: dict[tuple[str, int], str] = {}
        for kind, model, pks in (("status", StatusUpdate, status_pks), ("comment", ThreadItem, comment_pks)):
            if pks:
                found = model._default_manager.filter(pk__in=pks).order_by()
                texts |= {(kind, pk): text for pk, text in found.values_list("pk", cut)}
        return texts


def _loaded(kind: str, pks: list[int]) -> list[Any]:
    model: Any = KINDS[kind][0]
    rows = model._default_manager.filter(pk__in=pks).select_related("issue")
    if kind == "head":
        rows = rows.select_related("change")
    if kind == "review":
        rows = rows.select_related("change", "carried_from", "withdraws")
    return list(rows.defer("body") if kind in ("status", "comment", "event") else rows)


def comments_per_day(issue: TrackedIssue, as_of: AsOf = None) -> list[tuple[dt.date, int]]:
    """How many comments were made on each day, in time. One query, however many there are."""
    return list(
        _rows(issue, "comment", as_of)
        .order_by("stated_day")
        .values_list("stated_day")
        .annotate(n=Count("pk"))
    )


def kind_counts(issue: TrackedIssue, as_of: AsOf = None, words: str = "") -> dict[str, int]:
    """How many entries of each kind there are, without the kinds that have none."""
    parts = [
        _rows(issue, kind, as_of, words).order_by().annotate(part=Value(kind)).values_list("part", "pk")
        for kind in KINDS
    ]
    counted = Counter(kind for kind, _ in parts[0].union(*parts[1:], all=True))
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


@dataclass(frozen=True)
class Statement:
    """A recorded row found by its key, with the section that it belongs to."""

    section: str
    row: Any


def find_statement(issue: TrackedIssue, key: str) -> Statement | None:
    """The row that ``key`` names, among all kinds of records. Two queries."""
    parts = [
        issue.rows(model).filter(key=key).order_by().annotate(part=Value(section)).values_list("part", "pk")
        for section, model in SECTIONS.items()
    ]
    found = next(iter(parts[0].union(*parts[1:], all=True)), None)
    if found is None:
        return None
    section, pk = found
    rows = SECTIONS[section]._default_manager.select_related("issue")
    return Statement(section, rows.get(pk=pk))
