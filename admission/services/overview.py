"""One line about an issue, and one sentence."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from admission.models import TrackedIssue
from admission.services.standing import (
    Lifecycle,
    StandingQuestion,
    StandingStatus,
    current_status,
    lifecycle,
    open_questions,
    statuses,
    superseded_by_current,
)
from admission.services.witnesses import ClassCounts, counts, scored_witnesses


@dataclass(frozen=True)
class Overview:
    """What holds about an issue (as of a day, if one is asked for)."""

    issue: TrackedIssue
    life: Lifecycle
    standing: list[StandingStatus]
    questions: list[StandingQuestion]
    witnesses: ClassCounts

    @property
    def current(self) -> StandingStatus | None:
        return current_status(self.standing)

    @property
    def replaced(self) -> StandingStatus | None:
        return superseded_by_current(self.standing)

    @property
    def sentence(self) -> str:
        """What holds, since when, and what it replaced."""
        current = self.current
        state = self.life.state.capitalize()
        if self.life.last is not None and self.life.state == "reopened":
            state = f"Open, reopened {self.life.last.stated_day:%B} {self.life.last.stated_day.day}"
        if current is None:
            return f"{state}; no status is stated."
        claim = current.update.claim.rstrip(".")
        text = f"{state}: {claim}, since {current.update.stated_day:%B} "
        text += f"{current.update.stated_day.day}, {current.update.stated_day.year}"
        if self.replaced is not None:
            before = self.replaced.update
            day = f"{before.stated_day:%B} {before.stated_day.day}"
            text += f"; it replaced “{before.claim.rstrip('.')}” of {day}"
        return f"{text}."


def overview(issue: TrackedIssue, as_of: dt.date | None = None) -> Overview:
    """What holds about ``issue`` at the end of ``as_of``, else now."""
    return Overview(
        issue,
        lifecycle(issue, as_of),
        statuses(issue, as_of),
        open_questions(issue, as_of),
        counts(scored_witnesses(issue, as_of)),
    )


CARDS = 50


def issue_cards() -> list[Overview]:
    """The tracked issues, at most ``CARDS``. The queries grow with the issues, not with their threads."""
    return [overview(issue) for issue in TrackedIssue.objects.all()[:CARDS]]
