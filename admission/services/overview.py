"""One line about an issue, and one sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max

from admission.models import (
    Change,
    ChangeHead,
    Correction,
    IssueEvent,
    IssueVersion,
    LaterFact,
    Measurement,
    OpenQuestion,
    QuestionMention,
    Review,
    StatusUpdate,
    TrackedIssue,
    Witness,
)
from admission.services.changes import ChangeRow, change_rows, rows_of
from admission.services.facts import facts_by_target, with_facts
from admission.services.sentences import issue_sentence
from admission.services.standing import (
    AsOf,
    Lifecycle,
    StandingQuestion,
    StandingStatus,
    by_target,
    current_status,
    lifecycle,
    lifecycle_of,
    open_questions,
    questions_of,
    standing_of,
    statuses,
    superseded_by_current,
)
from admission.services.witnesses import ClassCounts, counts, scored_of, scored_witnesses


@dataclass(frozen=True)
class NeedingVerdict:
    """Changes without a standing verdict that are ``open`` or ``merged``: with a stated head, and without."""

    state: str
    rows: list[ChangeRow]
    without_head: list[ChangeRow]

    @property
    def total(self) -> int:
        return len(self.rows) + len(self.without_head)


@dataclass(frozen=True)
class Overview:
    """What holds about an issue (as of a moment, if one is asked for)."""

    issue: TrackedIssue
    life: Lifecycle
    standing: list[StandingStatus]
    questions: list[StandingQuestion]
    witnesses: ClassCounts
    changes: list[ChangeRow] = field(default_factory=list)

    @property
    def current(self) -> StandingStatus | None:
        return current_status(self.standing)

    @property
    def replaced(self) -> StandingStatus | None:
        return superseded_by_current(self.standing)

    @property
    def dated_ahead(self) -> list[StandingStatus]:
        """Statements that were dated ahead of when they were seen; they never hold."""
        return [status for status in self.standing if status.dated_ahead]

    @property
    def without_verdict(self) -> list[ChangeRow]:
        """Changes that have a head for which no verdict stands, and that are not closed."""
        return [row for row in self.changes if row.lacks_verdict and not row.is_closed]

    @property
    def needing(self) -> list[NeedingVerdict]:
        """Changes for which no verdict stands, those that can still be reviewed apart from merged ones."""
        rows = [row for row in self.changes if row.needs_verdict]
        still = [row for row in rows if not row.is_merged]
        merged = [row for row in rows if row.is_merged]
        return [
            NeedingVerdict(
                "open", [row for row in still if row.current], [r for r in still if not r.current]
            ),
            NeedingVerdict(
                "merged", [row for row in merged if row.current], [r for r in merged if not r.current]
            ),
        ]

    @property
    def sentence(self) -> str:
        """What holds, since when, and what it replaced."""
        return issue_sentence(self.life, self.current, self.replaced, self.changes)


def overview(issue: TrackedIssue, as_of: AsOf = None) -> Overview:
    """What holds about ``issue`` at ``as_of``, else now."""
    return Overview(
        issue,
        lifecycle(issue, as_of),
        statuses(issue, as_of),
        open_questions(issue, as_of),
        counts(scored_witnesses(issue, as_of)),
        change_rows(issue, as_of),
    )


def overviews(issues: Sequence[TrackedIssue]) -> list[Overview]:
    """What holds now about each of ``issues``, in their order. The queries don't grow with the issues."""
    wanted = [issue.pk for issue in issues]

    def by_issue(model: Any, *left_out: str) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = defaultdict(list)
        rows = model.objects.filter(issue__in=wanted).order_by("issue", "sort_at", "id").defer(*left_out)
        for row in rows:
            found[row.issue_id].append(row)
        return found

    said = by_issue(Correction)
    updates = by_issue(StatusUpdate, "body")
    events = by_issue(IssueEvent)
    questions, mentions = by_issue(OpenQuestion), by_issue(QuestionMention)
    witnesses, measured = by_issue(Witness), by_issue(Measurement)
    changes, heads, reviews = by_issue(Change), by_issue(ChangeHead), by_issue(Review)
    facts = by_issue(LaterFact)
    versions = _latest_versions(wanted)
    result = []
    for issue in issues:
        pk = issue.pk
        later = facts_by_target(facts[pk])
        corrected = by_target(said[pk])
        result.append(
            Overview(
                issue,
                lifecycle_of(issue, events[pk], versions.get(pk)),
                standing_of(updates[pk], corrected),
                questions_of(questions[pk], mentions[pk]),
                counts(scored_of(with_facts(witnesses[pk], later), measured[pk], [], later)),
                rows_of(with_facts(changes[pk], later), heads[pk], reviews[pk], corrected),
            )
        )
    return result


def _latest_versions(issues: Iterable[int]) -> dict[int, IssueVersion]:
    rows = IssueVersion.objects.filter(issue__in=issues)
    newest = rows.order_by().values("issue").annotate(newest=Max("pk")).values("newest")
    return {row.issue_id: row for row in rows.filter(pk__in=newest).defer("body")}
