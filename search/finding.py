"""Looks for words in the database: PostgreSQL by trigrams, SQLite by its full-text index over trigrams.

Both find the same: a record that has every word of the query somewhere in it, also inside a longer word, so
that a part of a hash is enough. Words of one or two characters narrow what longer ones found; a query that
has no other is compared with the beginnings of names.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.models import Case, IntegerField, QuerySet, Value, When

from search.documents import kinds
from search.models import SearchDocument

LONGEST_QUERY = 300
MOST_WORDS = 12
MOST_READ = 1000
"""Matches that one page of groups is made from; a query with more says that there are more."""
SHOWN_PER_KIND = 5
PAGE = 50
_INDEXED_FROM = 3
_LAST = "\U0010ffff"


@dataclass(frozen=True)
class Query:
    """What somebody looks for."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Query:
        """Read the words of ``text``; blanks of any kind part them, a NUL is none."""
        cleaned = " ".join(text.replace("\x00", " ").split())[:LONGEST_QUERY]
        return cls(cleaned, tuple(dict.fromkeys(cleaned.lower().split()))[:MOST_WORDS])

    @property
    def by_name_only(self) -> bool:
        """Whether no word is long enough for the index."""
        return all(len(word) < _INDEXED_FROM for word in self.words)


@dataclass(frozen=True)
class Group:
    """Matches of one kind, best first. ``more`` tells that there are others than those shown."""

    kind: str
    plural: str
    documents: list[SearchDocument]
    count: int


@dataclass(frozen=True)
class Found:
    """All groups of a query. ``cut``: there are more matches than were read."""

    groups: list[Group]
    count: int
    cut: bool


@dataclass(frozen=True)
class Page:
    """One kind's matches, newest first, and where the next page begins (an id), if there is one."""

    documents: list[SearchDocument]
    next_before: int | None


def find(query: Query) -> Found:
    """The best matches of every kind. Exact names come first, then beginnings of names, then the newest."""
    if not query.words:
        return Found([], 0, cut=False)
    rows = list(_named(query)[:MOST_READ])
    known = {row.pk for row in rows}
    matches = list(_matching(query).order_by("-pk")[: MOST_READ + 1])
    rows += [row for row in matches[:MOST_READ] if row.pk not in known]
    by_kind: dict[str, list[SearchDocument]] = {}
    for row in sorted(rows, key=lambda row: _rank(row, query)):
        by_kind.setdefault(row.kind, []).append(row)
    best = {kind: _rank(found[0], query) for kind, found in by_kind.items()}
    order = list(kinds())
    groups = [
        Group(kind, kinds()[kind], by_kind[kind][:SHOWN_PER_KIND], len(by_kind[kind]))
        for kind in sorted(by_kind, key=lambda kind: (best[kind], order.index(kind)))
    ]
    return Found(groups, len(rows), cut=len(matches) > MOST_READ)


def find_of_kind(query: Query, kind: str, before: int | None = None) -> Page:
    """A page of one kind's matches, newest first."""
    if not query.words:
        return Page([], None)
    rows = _matching(query).filter(kind=kind).order_by("-pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: PAGE + 1])
    return Page(found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else None)


def _rank(row: SearchDocument, query: Query) -> int:
    wanted = query.text.lower()
    if row.label_key == wanted:
        return 0
    if row.label_key.startswith(wanted):
        return 1
    return 2 if all(word in row.label_key for word in query.words) else 3


def _named(query: Query) -> QuerySet[SearchDocument]:
    """Rows whose name begins so, the exact ones first."""
    exact = Case(
        When(label_key=query.text.lower(), then=Value(0)), default=Value(1), output_field=IntegerField()
    )
    return _beginning(query).order_by(exact, "-pk")


def _beginning(query: Query) -> QuerySet[SearchDocument]:
    wanted = query.text.lower()
    if connection.vendor == "sqlite":
        # The two ends of a range use the index of names; LIKE does not there.
        return SearchDocument.objects.filter(label_key__gte=wanted, label_key__lt=wanted + _LAST)
    return SearchDocument.objects.filter(label_key__startswith=wanted)


def _matching(query: Query) -> QuerySet[SearchDocument]:
    if query.by_name_only:
        return _beginning(query)
    rows = SearchDocument.objects.all()
    if connection.vendor == "sqlite":
        long = " ".join(_quoted(word) for word in query.words if len(word) >= _INDEXED_FROM)
        rows = rows.extra(
            where=["search_searchdocument.id IN (SELECT rowid FROM search_text WHERE search_text MATCH %s)"],
            params=[long],
        )
        rest = [word for word in query.words if len(word) < _INDEXED_FROM]
    else:
        rest = list(query.words)
    for word in rest:
        rows = rows.filter(haystack__contains=word)
    return rows


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
