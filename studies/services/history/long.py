"""The history of a study with more records than one page could sort: in the ledger's order, and in bins."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Count, F, Max, Min, QuerySet
from django.db.models.functions import Coalesce, Trunc

from studies.models import Allocation, Amendment, Attempt, Event, Exclusion, NonLaunch, Protocol, Seal, Study
from studies.services.history.timeline import (
    EVENTS,
    EXCLUSIONS,
    LAUNCHES,
    OUTCOMES,
    PROTOCOL,
    SEALS,
    HistoryItem,
    items_of,
    links_of,
)

MOST_ITEMS = 2000
"""A study with more records than this has a long history."""

MOST_BINS = 200
UNITS: Mapping[str, dt.timedelta] = {
    "minute": dt.timedelta(minutes=1),
    "hour": dt.timedelta(hours=1),
    "day": dt.timedelta(days=1),
    "week": dt.timedelta(days=7),
    "month": dt.timedelta(days=31),
    "year": dt.timedelta(days=366),
}


def is_long(study: Study) -> bool:
    """Whether the study has more than ``MOST_ITEMS`` records on its line."""
    return len(links_of(study).values_list("pk", flat=True)[: MOST_ITEMS + 1]) > MOST_ITEMS


@dataclass(frozen=True)
class LedgerPage:
    """So many items after one place of the ledger; ``after`` is the next page's place, None at the end."""

    items: list[HistoryItem]
    after: int | None


def page_after(study: Study, place: int, size: int) -> LedgerPage:
    """The items behind a place of the ledger, in its order. The number of rows read is the page's."""
    links = list(links_of(study).filter(sequence__gt=place)[: size + 1])
    shown = links[:size]
    return LedgerPage(items_of(study, shown), shown[-1].sequence if len(links) > size else None)


def every_item(study: Study, size: int) -> Iterator[HistoryItem]:
    """All items in the ledger's order, read ``size`` at a time."""
    place: int | None = 0
    while place is not None:
        page = page_after(study, place, size)
        yield from page.items
        place = page.after


@dataclass(frozen=True)
class Bin:
    """How many records of one lane fall into one unit of time."""

    lane: str
    at: dt.datetime
    number: int


def binned(study: Study) -> tuple[str, list[Bin]]:
    """Every record's time, counted by the database in the smallest unit that gives few enough bins.

    A record without a time of its own counts where it was recorded. Returns the unit and the bins by time.
    """
    lanes = list(_lanes(study))
    ends = [rows.aggregate(first=Min("moment"), last=Max("moment")) for _, rows in lanes]
    firsts = [found["first"] for found in ends if found["first"] is not None]
    if not firsts:
        return "day", []
    span = max(found["last"] for found in ends if found["last"] is not None) - min(firsts)
    unit = next((name for name, length in UNITS.items() if span / length <= MOST_BINS), "year")
    counts: Counter[tuple[str, dt.datetime]] = Counter()
    for lane, rows in lanes:
        bins = rows.values(at=Trunc("moment", unit)).annotate(number=Count("pk")).values_list("at", "number")
        for at, number in bins:
            counts[lane, at] += number
    return unit, [Bin(lane, at, number) for (lane, at), number in sorted(counts.items(), key=_by_time)]


def _by_time(found: tuple[tuple[str, dt.datetime], int]) -> tuple[dt.datetime, str]:
    (lane, at), _ = found
    return at, lane


def _lanes(study: Study) -> Iterator[tuple[str, QuerySet]]:
    """The records of each type with their ``moment``."""
    stated = Coalesce("started_at", "ended_at", "recorded_at")
    moments = (
        (PROTOCOL, Protocol, F("frozen_at")),
        (PROTOCOL, Amendment, F("amended_at")),
        (SEALS, Seal, F("sealed_at")),
        (LAUNCHES, Allocation, stated),
        (LAUNCHES, NonLaunch, F("recorded_at")),
        (OUTCOMES, Attempt, stated),
        (EXCLUSIONS, Exclusion, F("recorded_at")),
        (EVENTS, Event, stated),
    )
    for lane, model, moment in moments:
        yield lane, model._default_manager.filter(study=study).order_by().annotate(moment=moment)
