"""Everything that happened in a study on one line of time."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import QuerySet

from rlvram_site.ledger.models import LedgerEntry, LedgerRecord
from studies.models import Allocation, Amendment, Attempt, Event, Exclusion, NonLaunch, Protocol, Seal, Study
from studies.services.history.known_times import KnownTimes
from studies.services.ledger_order import ESTABLISHES_OUTCOME
from studies.services.outcomes.slots import LARGE_COLUMNS, Entries
from studies.services.plan import amendments

PROTOCOL, SEALS, LAUNCHES, OUTCOMES, EXCLUSIONS, EVENTS = LANES = (
    "protocol and amendments", "seals", "launches", "outcomes", "exclusions", "events",
)  # fmt: skip

_Row = TypeVar("_Row", bound=LedgerRecord)
_Described = tuple[LedgerRecord, str, str, str]


@dataclass(frozen=True)
class HistoryItem:
    """One thing on the line.

    Attributes:
        lane: one of ``LANES``.
        title, detail: our words for a page.
        at: when it happened, or when it began if it lasted; UTC.
        ended_at: when what lasted ended; None for a point in time.
        known_at: when it became known, which decides what an "as of" view shows.
        stated: whether its source states the time. If not, it stands where its source or the ledger has it.
        number: its sequence number in the ledger.
        actor: who recorded it.
        row: what is recorded.
    """

    lane: str
    title: str
    detail: str
    at: dt.datetime
    ended_at: dt.datetime | None
    known_at: dt.datetime
    stated: bool
    number: int
    actor: str
    row: LedgerRecord


KINDS: Mapping[str, str] = {
    model._meta.label_lower: lane
    for model, lane in (
        (Protocol, PROTOCOL), (Amendment, PROTOCOL), (Seal, SEALS), (Allocation, LAUNCHES),
        (NonLaunch, LAUNCHES), (Attempt, OUTCOMES), (Exclusion, EXCLUSIONS), (Event, EVENTS),
    )
}  # fmt: skip
"""Lane of each type of record that has a place on the line."""


def links_of(study: Study) -> QuerySet[LedgerEntry]:
    """The links of what has a place on the study's line, in the ledger's order."""
    return LedgerEntry.objects.filter(stream__name=study.stream, record_type__in=KINDS).order_by("sequence")


def timeline(study: Study) -> list[HistoryItem]:
    """All items by time, and by ledger order within one moment. The number of queries does not grow."""
    items = items_of(study, links_of(study))
    return sorted(items, key=lambda item: (item.at, item.number))


def items_of(study: Study, links: Iterable[LedgerEntry]) -> list[HistoryItem]:
    """What these links record, in their order."""
    chosen = list(links)
    keys: dict[str, list[int]] = defaultdict(list)
    for link in chosen:
        keys[link.record_type].append(link.record_id)
    described: dict[tuple[str, int], _Described] = {}
    for row, lane, title, detail in _rows(study, keys):
        described[row._meta.label_lower, row.pk] = row, lane, title, detail
    pairs = {
        row.slot.pair_id
        for row, _, _, _ in described.values()
        if isinstance(row, Attempt | NonLaunch) and row.slot is not None
    }
    known = KnownTimes(study, pairs)
    return [_item(link, known, *described[link.record_type, link.record_id]) for link in chosen]


def _item(
    link: LedgerEntry, known: KnownTimes, row: LedgerRecord, lane: str, title: str, detail: str
) -> HistoryItem:
    known_at, started = known.at(row), getattr(row, "started_at", None)
    if isinstance(row, Attempt) and row.supersedes_id is not None:
        started = None  # what happened is the correcting; the run stands where the wrong entry does
    lasted = started is not None and getattr(row, "ended_at", None) is not None
    return HistoryItem(
        lane=lane,
        title=title,
        detail=detail,
        at=started or known_at,
        ended_at=row.ended_at if lasted else None,  # type: ignore[attr-defined]
        known_at=known_at,
        stated=known.stated(row) is not None,
        number=link.sequence,
        actor=link.actor,
        row=row,
    )


def _rows(study: Study, keys: Mapping[str, Sequence[int]]) -> Iterator[_Described]:
    """These rows with lane, title and detail; ``keys`` are primary keys by the record type's label."""

    def chosen(model: type[_Row]) -> QuerySet[_Row]:
        return QuerySet(model).filter(pk__in=keys.get(model._meta.label_lower, ()))

    for protocol in chosen(Protocol):
        yield protocol, PROTOCOL, f"Protocol {protocol.version} frozen", f"sha256 {protocol.sha256}"
    if keys.get(Amendment._meta.label_lower):
        words: dict[int, tuple[str, str]] = {
            change.amendment.pk: (change.word, ", ".join(key.key for key in change.keys))
            for change in amendments.effects(study)
        }
        for amendment in chosen(Amendment):
            word, changed = words[amendment.pk]
            yield amendment, PROTOCOL, f"Amendment {amendment.number}: {word}", f"changed {changed}"
    for seal in chosen(Seal):
        yield seal, SEALS, "Predictions sealed", f"sha256 {seal.sha256}"
    for allocation in chosen(Allocation):
        yield (
            allocation, LAUNCHES, f"Pair {allocation.pair_id}",
            f"job {allocation.job_id}, {allocation.gpu_count} devices, "
            f"scheduler state {allocation.scheduler_state}",
        )  # fmt: skip
    for launch in chosen(NonLaunch).select_related("slot"):
        yield launch, LAUNCHES, f"{launch.slot.experiment_id} not launched", launch.reason
    attempts = {row.pk: row for row in chosen(Attempt).select_related("slot").defer(*LARGE_COLUMNS)}
    entries = Entries([*_corrections(attempts), *attempts.values()])
    for attempt in attempts.values():
        title = f"{attempt.invocation_id}: {attempt.get_outcome_display()}"
        yield attempt, OUTCOMES, title, _detail(attempt, entries)
    for exclusion in chosen(Exclusion).select_related("attempt"):
        verb = "counts again" if exclusion.lifted else "excluded"
        yield (
            exclusion, EXCLUSIONS, f"{exclusion.attempt.invocation_id} {verb}",
            f"{exclusion.reason} ({exclusion.author})",
        )  # fmt: skip
    for event in chosen(Event):
        yield event, EVENTS, event.title, event.detail


def _corrections(attempts: Mapping[int, Attempt]) -> Iterator[Attempt]:
    """What corrects these, and what they correct, as far as it is not among them."""
    wrong = {row.supersedes_id for row in attempts.values() if row.supersedes_id is not None}
    light = Attempt.objects.exclude(pk__in=attempts).defer(*LARGE_COLUMNS)
    yield from light.filter(supersedes__in=attempts)
    if wrong:
        yield from light.filter(pk__in=wrong)


def _detail(attempt: Attempt, entries: Entries) -> str:
    established = attempt.outcome in ESTABLISHES_OUTCOME
    parts = [attempt.diagnosis.replace("_", " ") if established else attempt.reason]
    if (wrong := entries.supersedes(attempt)) is not None:
        parts.append(f"supersedes {wrong.invocation_id}, because {attempt.supersedes_reason}")
    if (correction := entries.superseded_by(attempt)) is not None:
        parts.append(f"superseded by {correction.invocation_id}")
    return "; ".join(part for part in parts if part)
