"""Everything that happened in a study on one line of time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from rlvram_site.ledger.models import LedgerEntry, LedgerRecord
from studies.models import Allocation, Amendment, Attempt, Event, Exclusion, NonLaunch, Protocol, Seal, Study
from studies.services.history.known_times import KnownTimes
from studies.services.ledger_order import ESTABLISHES_OUTCOME
from studies.services.outcomes.slots import Entries
from studies.services.plan import amendments

PROTOCOL, SEALS, LAUNCHES, OUTCOMES, EXCLUSIONS, EVENTS = LANES = (
    "protocol and amendments", "seals", "launches", "outcomes", "exclusions", "events",
)  # fmt: skip


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


def timeline(study: Study) -> list[HistoryItem]:
    """All items by time, and by ledger order within one moment. The number of queries does not grow."""
    known = KnownTimes(study)
    links = {
        (link.record_type, link.record_id): link
        for link in LedgerEntry.objects.filter(stream__name=study.stream)
    }
    items = []
    for row, lane, title, detail in _rows(study):
        link = links[row._meta.label_lower, row.pk]
        known_at, started = known.at(row), getattr(row, "started_at", None)
        if isinstance(row, Attempt) and row.supersedes_id is not None:
            started = None  # what happened is the correcting; the run stands where the wrong entry does
        lasted = started is not None and getattr(row, "ended_at", None) is not None
        items.append(
            HistoryItem(
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
        )
    return sorted(items, key=lambda item: (item.at, item.number))


def _rows(study: Study) -> Iterator[tuple[LedgerRecord, str, str, str]]:
    for protocol in Protocol.objects.filter(study=study):
        yield protocol, PROTOCOL, f"Protocol {protocol.version} frozen", f"sha256 {protocol.sha256}"
    words: dict[int, tuple[str, str]] = {
        change.amendment.pk: (change.word, ", ".join(key.key for key in change.keys))
        for change in amendments.effects(study)
    }
    for amendment in Amendment.objects.filter(study=study):
        word, keys = words[amendment.pk]
        yield amendment, PROTOCOL, f"Amendment {amendment.number}: {word}", f"changed {keys}"
    for seal in Seal.objects.filter(study=study):
        yield seal, SEALS, "Predictions sealed", f"sha256 {seal.sha256}"
    for allocation in Allocation.objects.filter(study=study):
        yield (
            allocation, LAUNCHES, f"Pair {allocation.pair_id}",
            f"job {allocation.job_id}, {allocation.gpu_count} devices, "
            f"scheduler state {allocation.scheduler_state}",
        )  # fmt: skip
    for launch in NonLaunch.objects.filter(study=study).select_related("slot"):
        yield launch, LAUNCHES, f"{launch.slot.experiment_id} not launched", launch.reason
    attempts = {row.pk: row for row in Attempt.objects.filter(study=study).select_related("slot")}
    entries = Entries(attempts.values())
    for attempt in attempts.values():
        title = f"{attempt.invocation_id}: {attempt.get_outcome_display()}"
        yield attempt, OUTCOMES, title, _detail(attempt, entries)
    for exclusion in Exclusion.objects.filter(study=study).select_related("attempt"):
        verb = "counts again" if exclusion.lifted else "excluded"
        yield (
            exclusion, EXCLUSIONS, f"{exclusion.attempt.invocation_id} {verb}",
            f"{exclusion.reason} ({exclusion.author})",
        )  # fmt: skip
    for event in Event.objects.filter(study=study):
        yield event, EVENTS, event.title, event.detail


def _detail(attempt: Attempt, entries: Entries) -> str:
    established = attempt.outcome in ESTABLISHES_OUTCOME
    parts = [attempt.diagnosis.replace("_", " ") if established else attempt.reason]
    if (wrong := entries.supersedes(attempt)) is not None:
        parts.append(f"supersedes {wrong.invocation_id}, because {attempt.supersedes_reason}")
    if (correction := entries.superseded_by(attempt)) is not None:
        parts.append(f"superseded by {correction.invocation_id}")
    return "; ".join(part for part in parts if part)
