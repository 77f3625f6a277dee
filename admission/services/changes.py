"""Heads of a change and the verdicts that stand for them.

A verdict holds for its own head. A later head needs its own review, or one that carries the verdict over, and
falls with the one it carries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from admission.models import Change, ChangeHead, Correction, Review, TrackedIssue
from admission.services.facts import later_facts, with_facts
from admission.services.standing import AsOf, corrections, until

Verdict = Review.Verdict


@dataclass
class GivenVerdict:
    """One review of one head, and whether it still stands."""

    review: Review
    withdrawn_by: Review | Correction | None = None
    replaced_by: Review | None = None

    @property
    def stands(self) -> bool:
        return (
            self.withdrawn_by is None
            and self.replaced_by is None
            and self.review.verdict != Verdict.WITHDRAWN
            and not self.review.dated_ahead
        )

    @property
    def fate(self) -> str:
        """What became of it, in a word."""
        if self.review.dated_ahead:
            return "dated ahead"
        return "stands" if self.stands else "withdrawn" if self.withdrawn_by else "replaced"

    @property
    def why_not(self) -> str:
        """The reason it does not stand, in words; empty when it does."""
        if isinstance(self.withdrawn_by, Review):
            return self.withdrawn_by.note or "withdrawn by its reviewer"
        if isinstance(self.withdrawn_by, Correction):
            return self.withdrawn_by.text
        if self.review.dated_ahead:
            return "its date was still to come when it was seen"
        return "replaced by a later verdict of the same reviewer" if self.replaced_by else ""


@dataclass
class Head:
    """One head of a change: everything stated about it, and the verdicts given for it."""

    sha: str
    stated: list[ChangeHead] = field(default_factory=list)
    verdicts: list[GivenVerdict] = field(default_factory=list)

    @property
    def latest(self) -> ChangeHead | None:
        return self.stated[-1] if self.stated else None

    @property
    def standing(self) -> list[Review]:
        return [given.review for given in self.verdicts if given.stands]

    @property
    def verdict(self) -> str:
        """``changes_required`` if anybody says so, else ``clear``, ``inconclusive``, or empty for none."""
        given = {review.verdict for review in self.standing}
        for verdict in (Verdict.CHANGES_REQUIRED, Verdict.CLEAR, Verdict.INCONCLUSIVE):
            if verdict in given:
                return verdict.value
        return ""

    def is_called(self, sha: str) -> bool:
        """Whether ``sha``, whole or abbreviated, names this head."""
        return bool(sha) and bool(self.sha) and (self.sha.startswith(sha) or sha.startswith(self.sha))


@dataclass
class ChangeRow:
    """A change with its heads in the order in which they were stated."""

    change: Change
    heads: list[Head] = field(default_factory=list)
    stated: list[ChangeHead] = field(default_factory=list)

    @property
    def current(self) -> Head | None:
        """The head that was stated last; of a merged change the one that was stated as merged, if one was."""
        if self.is_merged and not self.merged_head_unstated:
            merged = (
                row for row in reversed(self.stated) if row.state == ChangeHead.State.MERGED and row.sha
            )
            return next(head for row in merged for head in self.heads if head.is_called(row.sha))
        last = next((row for row in reversed(self.stated) if row.sha), None)
        if last is None:
            return self.heads[-1] if self.heads else None
        return next(head for head in self.heads if head.is_called(last.sha))

    @property
    def state(self) -> ChangeHead | None:
        """The latest statement of its state, which may name no head."""
        return self.stated[-1] if self.stated else None

    @property
    def merged_head_unstated(self) -> bool:
        """Whether it is merged and nobody stated which head was: no verdict stands for that."""
        merged = [row for row in self.stated if row.state == ChangeHead.State.MERGED]
        return self.is_merged and not any(row.sha for row in merged)

    @property
    def is_merged(self) -> bool:
        return self.state is not None and self.state.state == ChangeHead.State.MERGED

    @property
    def is_closed(self) -> bool:
        """Whether it was closed without being merged."""
        return self.state is not None and self.state.state == ChangeHead.State.CLOSED

    @property
    def lacks_verdict(self) -> bool:
        """Whether it has a head, and no verdict stands for its current one."""
        return self.current is not None and not self.standing_verdict

    @property
    def needs_verdict(self) -> bool:
        """Whether somebody would have to give a verdict before one stands for it: it is not closed, and none
        stands for its current head, stated or not."""
        return not self.is_closed and not self.standing_verdict

    @property
    def merged_sha(self) -> str:
        return next((row.merged_sha for row in reversed(self.stated) if row.merged_sha), "")

    @property
    def standing_verdict(self) -> str:
        """The verdict for the current head; verdicts for older heads do not count.

        For a merged change it is the verdict for the head that was stated as merged, and none without one.
        """
        return self.current.verdict if self.current and not self.merged_head_unstated else ""


def change_rows(issue: TrackedIssue, as_of: AsOf = None) -> list[ChangeRow]:
    """Every change with heads and verdicts, by repository and number; candidates without a number last."""
    return rows_of(
        with_facts(until(issue.change_rows.all(), as_of), later_facts(issue, as_of)),
        until(issue.changehead_rows.all(), as_of),
        until(issue.review_rows.all(), as_of),
        corrections(issue, as_of),
    )


def rows_of(
    changes: Iterable[Change],
    heads: Iterable[ChangeHead],
    reviews: Iterable[Review],
    said: dict[str, list[Correction]],
) -> list[ChangeRow]:
    """``change_rows`` of one issue's rows, and of what was said about them."""
    rows = {change.pk: ChangeRow(change) for change in changes}
    for stated in sorted(heads, key=lambda head: (head.sort_at, head.pk)):
        row = rows.get(stated.change_id)
        if row is None or stated.dated_ahead:
            continue
        row.stated.append(stated)
        if stated.sha:
            _head(row, stated.sha).stated.append(stated)
    in_time = sorted(reviews, key=lambda review: (review.sort_at, review.pk))
    for review, given in zip(in_time, _given(in_time, said), strict=True):
        if review.change_id in rows:
            _head(rows[review.change_id], review.head_sha).verdicts.append(given)
    return sorted(
        rows.values(),
        key=lambda r: (r.change.number is None, r.change.repository, r.change.number or 0, r.change.title),
    )


def _head(row: ChangeRow, sha: str) -> Head:
    head = next((head for head in row.heads if head.is_called(sha)), None)
    if head is None:
        head = Head(sha)
        row.heads.append(head)
    elif len(sha) > len(head.sha):
        head.sha = sha
    return head


def _given(reviews: list[Review], said: dict[str, list[Correction]]) -> list[GivenVerdict]:
    """Whether each review still stands; ``reviews`` are in time."""
    given = {review.pk: GivenVerdict(review) for review in reviews}
    for review in reviews:
        if review.withdraws_id in given and not review.dated_ahead:
            given[review.withdraws_id].withdrawn_by = review
        for correction in said.get(review.key, []):
            if correction.kind == Correction.Kind.WITHDRAWAL:
                given[review.pk].withdrawn_by = correction
    for review in reviews:
        # A carried verdict rests on the one it carries, however long that chain is.
        origin = given.get(review.carried_from_id or 0)
        if origin is not None and origin.withdrawn_by is not None and given[review.pk].withdrawn_by is None:
            given[review.pk].withdrawn_by = origin.withdrawn_by
    for position, review in enumerate(reviews):
        for earlier in reviews[:position]:
            same = (earlier.change_id, earlier.reviewer) == (review.change_id, review.reviewer)
            if same and Head(earlier.head_sha).is_called(review.head_sha) and review.withdraws_id is None:
                given[earlier.pk].replaced_by = review
    return [given[review.pk] for review in reviews]
