"""Opening, renaming, closing and reopening, as a thread's events tell them."""

from __future__ import annotations

import datetime as dt
from collections import Counter

from admission import dates
from admission.models import ChangeHead, IssueEvent, TrackedIssue
from admission.models.base import Origin
from admission.thread.export import ExportedIssue, ExportedItem
from rlvram_site.ledger.chain import record_all

TOGETHER = dt.timedelta(minutes=2)
"""A change that was merged this shortly before the issue was closed is what closed it."""


def record_events(issue: TrackedIssue, exported: ExportedIssue, items: list[ExportedItem]) -> int:
    """Record the events that are not recorded yet; how many there were."""
    recorded = set(issue.issueevent_rows.all().values_list("key", flat=True))
    renames = [item for item in items if item.event == "renamed"]
    first_title = _rename(renames[0])[0] if renames else exported.title
    opened = _event(issue, IssueEvent.Kind.OPENED, "opened", exported.created, exported.account)
    opened.after = first_title or exported.title
    found = [opened]
    numbers: Counter[str] = Counter()
    for item in items:
        if item.event not in ("closed", "reopened", "renamed"):
            continue
        stem = f"{item.event}-{item.stated.day:%Y%m%d}"
        numbers[stem] += 1
        event = _event(
            issue, IssueEvent.Kind(item.event), f"{stem}-{numbers[stem]}", item.stated, item.account
        )
        event.stated_in = f"event-{item.identity}"
        event.before, event.after = _rename(item)
        event.cause = _cause(issue, item)
        found.append(event)
    new = [event for event in found if event.key not in recorded]
    record_all(new)
    return len(new)


def _event(
    issue: TrackedIssue, kind: IssueEvent.Kind, key: str, stated: dates.StatedTime, account: str
) -> IssueEvent:
    event = IssueEvent(issue=issue, key=key, origin=Origin.THREAD, kind=kind, account=account)
    event.set_stated(stated)
    return event


def _rename(item: ExportedItem) -> tuple[str, str]:
    rename = item.raw.get("rename")
    if not isinstance(rename, dict):
        return "", ""
    before, after = rename.get("from"), rename.get("to")
    return (before if isinstance(before, str) else ""), (after if isinstance(after, str) else "")


def _cause(issue: TrackedIssue, item: ExportedItem) -> str:
    merged = _merged_just_before(issue, item) if item.event == "closed" else ""
    commit = item.raw.get("commit_id")
    if isinstance(commit, str) and commit:
        named = f"commit {commit[:64]}"
        return f"merge of {merged} ({named})" if merged else named
    if merged:
        return f"merge of {merged}"
    reason = item.raw.get("state_reason")
    return reason.replace("_", " ")[:200] if isinstance(reason, str) else ""


def _merged_just_before(issue: TrackedIssue, item: ExportedItem) -> str:
    """The change whose merge closed the issue: the one that was merged just before, if it is only one."""
    if item.stated.precision != dates.Precision.INSTANT:
        return ""
    merged = issue.changehead_rows.filter(
        state=ChangeHead.State.MERGED,
        stated_precision=dates.Precision.INSTANT.value,
        sort_at__gte=item.stated.sort_at - TOGETHER,
        sort_at__lte=item.stated.sort_at,
    ).select_related("change")
    labels = {head.change.label for head in merged}
    return labels.pop() if len(labels) == 1 else ""
