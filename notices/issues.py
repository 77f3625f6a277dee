"""What holds about an issue, as far as people are told of it, and what differs from before.

A state is plain JSON, so that it can be kept and compared with the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from admission.models import ChangeHead, Review, TrackedIssue
from admission.services.changes import ChangeRow, GivenVerdict, change_rows
from admission.services.overview import overview
from admission.services.witnesses import WitnessClass, scored_witnesses
from notices.differences import Difference
from notices.kinds import Kind

NO_VERDICT = "no standing verdict"


def state_of(issue: TrackedIssue) -> dict[str, Any]:
    """What holds now."""
    view, rows = overview(issue), change_rows(issue)
    unsafe = [s.witness for s in scored_witnesses(issue) if s.name == WitnessClass.UNSAFE_ADMISSION]
    return {
        "title": view.life.title,
        "holds": {
            "sentence": view.sentence,
            "path": view.current.update.get_absolute_url() if view.current else issue.get_absolute_url(),
        },
        "verdicts": {
            given.review.key: _verdict(row, given)
            for row in rows
            for head in row.heads
            for given in head.verdicts
            if given.review.verdict != Review.Verdict.WITHDRAWN
        },
        "heads": {row.change.key: head for row in rows if (head := _head(row)) is not None},
        "unsafe": {
            witness.key: {"title": witness.title, "path": witness.get_absolute_url()} for witness in unsafe
        },
    }


def _verdict(row: ChangeRow, given: GivenVerdict) -> dict[str, Any]:
    review = given.review
    withdrawn = given.withdrawn_by
    return {
        "change": row.change.key,
        "words": f"{review.get_verdict_display()} by {review.reviewer} for {row.change.label} "
        f"at {review.head_sha[:8]}",
        "withdrawn": withdrawn is not None,
        "why": given.why_not if withdrawn is not None else "",
        "path": (withdrawn or review).get_absolute_url(),
    }


def _head(row: ChangeRow) -> dict[str, Any] | None:
    head, state = row.current, row.state
    if head is None or not head.sha or (state is not None and state.state == ChangeHead.State.CLOSED):
        return None
    return {
        "label": row.change.label,
        "sha": head.sha[:8],
        "verdict": head.verdict.replace("_", " "),
        "path": (head.latest or row.change).get_absolute_url(),
    }


def differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[Difference]:
    """What people are told when ``before`` has become ``now``."""
    if before["holds"]["sentence"] != now["holds"]["sentence"]:
        yield Difference(
            Kind.HOLDS, before["holds"]["sentence"], now["holds"]["sentence"], now["holds"]["path"]
        )
    lost = set()
    for key, verdict in now["verdicts"].items():
        earlier = before["verdicts"].get(key)
        if verdict["withdrawn"] and earlier is not None and not earlier["withdrawn"]:
            lost.add(verdict["change"])
            yield Difference(
                Kind.VERDICT_WITHDRAWN, earlier["words"], f"withdrawn: {verdict['why']}", verdict["path"]
            )
    for key, head in now["heads"].items():
        old = before["heads"].get(key)
        same = old is not None and old["sha"] == head["sha"]
        # A verdict that was withdrawn has been told of already.
        if head["verdict"] or (same and (not old["verdict"] or key in lost)):
            continue
        said = "this change was not known" if old is None else _words(old)
        yield Difference(Kind.HEAD_WITHOUT_VERDICT, said, _words(head), head["path"])
    for key, witness in now["unsafe"].items():
        if key not in before["unsafe"]:
            yield Difference(
                Kind.UNSAFE, "not known to be unsafe", f"admitted, and ran out of memory: {witness['title']}",
                witness["path"],
            )  # fmt: skip


def _words(head: dict[str, Any]) -> str:
    return f"{head['label']} at {head['sha']}: {head['verdict'] or NO_VERDICT}"
