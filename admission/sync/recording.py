"""What arrived becomes records: the thread through the importer, pull requests as heads and reviews.

A head is stated again only where the forge says something else than what was stated last.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from admission.models import Change, ChangeHead, Review, TrackedIssue
from admission.models.base import Origin
from admission.services.identity import known_issue, lock
from admission.services.importing import ImportReport, import_thread
from admission.services.recording import record_row
from admission.sync.fetching import Fetched
from admission.sync.pulls import GivenReview, Pull, PullAddress
from admission.thread.export import ExportedIssue

State, Checks, Verdict = ChangeHead.State, ChangeHead.Checks, Review.Verdict
DISMISSED = "Dismissed on the forge."


@dataclass
class Recorded:
    """What one sync added to an issue."""

    issue: TrackedIssue
    added: Counter[str]

    @property
    def sentence(self) -> str:
        """For a person: counts by kind, or that there was nothing new."""
        parts = [f"{kind}: {number}" for kind, number in sorted(self.added.items()) if number]
        return f"{self.issue}: {', '.join(parts) if parts else 'nothing new'}."


def known_pulls(exported: ExportedIssue) -> list[PullAddress]:
    """The pull requests that are recorded for an issue, whoever recorded them."""
    issue = known_issue(exported.owner, exported.name, exported.number, exported.host, exported.forge_id)
    if issue is None:
        return []
    changes = issue.change_rows.filter(number__isnull=False)
    found = []
    for repository, number in changes.order_by("id").values_list("repository", "number"):
        owner, slash, name = (repository or f"{exported.owner}/{exported.name}").partition("/")
        if slash and name and number:
            found.append(PullAddress(owner, name, number))
    return found


@transaction.atomic
def record_fetched(fetched: Fetched, *, known_as: TrackedIssue | None = None) -> Recorded:
    """Record all of it or nothing. ``known_as``: the tracked issue, if the forge moved it meanwhile.

    Raises ``ExportError`` if it contradicts what is recorded.
    """
    # The forge is where the text lives: a body that went back to an earlier one really did.
    report: ImportReport = import_thread(fetched.exported, fetched.items, put_back=True, known_as=known_as)
    recorded = Recorded(report.issue, Counter(report.added))
    lock(report.issue)
    for pull in fetched.pulls:
        change = _change(report.issue, pull, recorded.added)
        _record_head(report.issue, change, pull, recorded.added)
        for review in pull.reviews:
            _record_review(report.issue, change, review, recorded.added)
    return recorded


def _change(issue: TrackedIssue, pull: Pull, added: Counter[str]) -> Change:
    own = pull.address.repository.lower() == issue.repository.lower()
    rows = issue.change_rows.filter(number=pull.address.number)
    for row in rows:
        if (row.repository or issue.repository).lower() == pull.address.repository.lower():
            return row
    change = Change(
        repository="" if own else pull.address.repository, number=pull.address.number, title=pull.title
    )
    record_row(issue, change, "change", pull.at, Origin.THREAD)
    added["changes"] += 1
    return change


def _record_head(issue: TrackedIssue, change: Change, pull: Pull, added: Counter[str]) -> None:
    stated = list(change.heads.order_by("sort_at", "id"))
    last = next((row for row in reversed(stated) if row.sha), None)
    state, note = State(pull.state), ""
    same_head = last is not None and _same(last.sha, pull.head_sha)
    if last is not None and same_head and last.state == State.HELD and state in (State.OPEN, State.DRAFT):
        # Holding is what people decided; the forge knows nothing of it and cannot end it.
        state, note = State.HELD, "Held as stated before; the checks are the forge's."
    checks = Checks(pull.checks)
    if last is not None and same_head:
        unchanged_checks = checks in (Checks.UNSTATED, last.checks)
        merged = not pull.merged_sha or _same(last.merged_sha, pull.merged_sha)
        if last.state == state and unchanged_checks and merged:
            return
        if checks == Checks.UNSTATED:
            checks = Checks(last.checks)
    head = ChangeHead(
        change=change, sha=pull.head_sha, state=state, checks=checks, merged_sha=pull.merged_sha, note=note
    )
    newest = stated[-1].sort_at if stated else None
    record_row(issue, head, f"head-{pull.address.number}-{pull.head_sha[:8]}", _after(pull.at, newest),
               Origin.THREAD)  # fmt: skip
    added["heads"] += 1


def _same(one: str, other: str) -> bool:
    """Whether two hashes, whole or abbreviated, name the same commit."""
    return bool(one) and bool(other) and (one.startswith(other) or other.startswith(one))


def _after(at: str, newest: dt.datetime | None) -> str:
    """When the forge says it happened; now, if something that was stated later stands against it."""
    if at and (newest is None or dt.datetime.fromisoformat(at) >= newest):
        return at
    return f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}"


def _record_review(issue: TrackedIssue, change: Change, given: GivenReview, added: Counter[str]) -> None:
    key = f"forge-review-{given.identity}"
    known = {row.key: row for row in change.reviews.filter(key__startswith=key)}
    if given.dismissed:
        original = known.get(key)
        # What was dismissed before anybody read it here had a verdict that the forge no longer tells.
        if original is None or f"{key}-withdrawn" in known:
            return
        row = Review(
            change=change, key=f"{key}-withdrawn", head_sha=given.head_sha, reviewer=given.account,
            account=given.account, verdict=Verdict.WITHDRAWN, withdraws=original, note=DISMISSED,
        )  # fmt: skip
        record_row(issue, row, "review", _after("", None), Origin.THREAD)
        added["withdrawn verdicts"] += 1
        return
    if key in known or _stated_already(change, given):
        return
    row = Review(
        change=change, key=key, head_sha=given.head_sha, reviewer=given.account, account=given.account,
        verdict=Verdict(given.verdict), note=given.note,
    )  # fmt: skip
    record_row(issue, row, "review", given.at, Origin.THREAD)
    added["reviews"] += 1


def _stated_already(change: Change, given: GivenReview) -> bool:
    """Whether a person recorded the same verdict of the same account on the same head."""
    return any(
        _same(row.head_sha, given.head_sha) and given.account in (row.account, row.reviewer)
        for row in change.reviews.filter(verdict=given.verdict)
    )
