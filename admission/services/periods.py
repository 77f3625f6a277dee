"""The timeline in parts: what was said while one status update held, with equal reviews as one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from admission.services.standing import StandingStatus
from admission.services.timeline import Entry


@dataclass
class Line:
    """One entry, or several reviews that say the same of the same head on the same day."""

    entries: list[Entry]

    @property
    def entry(self) -> Entry:
        return self.entries[0]

    @property
    def is_folded(self) -> bool:
        return len(self.entries) > 1


@dataclass
class Period:
    """What was said while ``status`` was the newest one; None before the first."""

    status: StandingStatus | None
    lines: list[Line] = field(default_factory=list)


def periods(entries: Iterable[Entry], standing: Sequence[StandingStatus]) -> list[Period]:
    """``entries``, newest first, by the status update that was the newest at their time.

    ``standing`` are all status updates, newest first. An update stands in its own period, at its end.
    """
    found: list[Period] = []
    for entry in entries:
        status = _newest_at(entry, standing)
        if not found or found[-1].status is not status:
            found.append(Period(status))
        lines = found[-1].lines
        if lines and _alike(lines[-1].entry, entry):
            lines[-1].entries.append(entry)
        else:
            lines.append(Line([entry]))
    return found


def _newest_at(entry: Entry, standing: Sequence[StandingStatus]) -> StandingStatus | None:
    if entry.status is not None:
        return next((item for item in standing if item.original.pk == entry.status.original.pk), None)
    return next((item for item in standing if item.original.sort_at <= entry.row.sort_at), None)


def _alike(one: Entry, other: Entry) -> bool:
    """Whether two reviews differ in who gave them alone."""
    if one.kind != "review" or other.kind != "review" or one.corrections or other.corrections:
        return False
    return _said(one) == _said(other)


def _said(entry: Entry) -> tuple[object, ...]:
    row = entry.row
    return (
        row.change_id, row.head_sha, row.verdict, row.stated_day, row.note, row.carry_reason,
        row.withdraws_id, str(row.findings),
    )  # fmt: skip
