"""What was recorded lately, as few lines as possible: an import of 600 rows is one of them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.apps import apps
from django.db.models import Count, Max, Min

from rlvram_site.ledger.models import LedgerEntry, LedgerRecord

TOGETHER = dt.timedelta(seconds=60)
"""Rows of one stream that one actor recorded within this time of each other are one change."""

NAMED = 3
"""Kinds that a change of many kinds names, the most frequent first."""

READ = 400
"""Groups of rows (one kind, one moment) that are read at most; more than enough for a page."""


@dataclass
class FeedItem:
    """Rows that one actor recorded in one stream at about the same time.

    ``kinds`` counts rows by model label, for example ``studies.attempt``. ``first`` and ``last`` are
    sequence numbers in the stream.
    """

    stream: str
    actor: str
    started_at: dt.datetime
    ended_at: dt.datetime
    first: int
    last: int
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def records(self) -> int:
        return sum(self.kinds.values())

    @property
    def what(self) -> str:
        """``494 records: 306 predictions, 53 source files and 14 other kinds``; one kind is just counted."""
        parts = [_counted(label, number) for label, number in self.kinds.most_common(NAMED)]
        if len(self.kinds) == 1:
            return parts[0]
        rest = len(self.kinds) - len(parts)
        more = f" and {rest} other {'kind' if rest == 1 else 'kinds'}" if rest else ""
        return f"{self.records:,} records: {', '.join(parts)}{more}"

    @property
    def kind(self) -> str:
        """The kind in a word: the row's own name, or ``import`` for rows of many kinds."""
        if len(self.kinds) == 1:
            return str(apps.get_model(next(iter(self.kinds)))._meta.verbose_name)
        return "import"


def _counted(label: str, number: int) -> str:
    meta = apps.get_model(label)._meta
    return f"{number:,} {meta.verbose_name if number == 1 else meta.verbose_name_plural}"


def recent_changes(limit: int) -> list[FeedItem]:
    """The newest ``limit`` changes, newest first. One query, however many rows were recorded."""
    groups = (
        LedgerEntry.objects.order_by()
        .values_list("stream__name", "actor", "recorded_at", "record_type")
        .annotate(number=Count("pk"), first=Min("sequence"), last=Max("sequence"))
        .order_by("-recorded_at", "stream__name", "-last")[:READ]
    )
    changes: list[FeedItem] = []
    newest: dict[tuple[str, str], FeedItem] = {}
    for stream, actor, moment, label, number, first, last in groups:
        change = newest.get((stream, actor))
        if change is None or change.started_at - moment > TOGETHER:
            change = newest[stream, actor] = FeedItem(stream, actor, moment, moment, first, last)
            changes.append(change)
        change.started_at = min(change.started_at, moment)
        change.first, change.last = min(change.first, first), max(change.last, last)
        change.kinds[label] += number
    return changes[:limit]


def owners(streams: Iterable[str]) -> dict[str, LedgerRecord]:
    """The study, pool or issue that each stream belongs to: the first row recorded in it.

    One query for the streams and one for each kind of owner.
    """
    wanted: dict[str, dict[int, str]] = {}
    first = LedgerEntry.objects.filter(stream__name__in=set(streams), sequence=1)
    for stream, label, pk in first.values_list("stream__name", "record_type", "record_id"):
        wanted.setdefault(label, {})[pk] = stream
    return {
        by_pk[row.pk]: row
        for label, by_pk in wanted.items()
        for row in apps.get_model(label)._default_manager.filter(pk__in=by_pk)
    }
