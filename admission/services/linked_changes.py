"""Pull requests that refer to an issue, from the cross-references in its timeline.

A reference names a pull request with number, title, state and the time of its merge; it names no head.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from admission import dates
from admission.models import Change, ChangeHead, TrackedIssue
from admission.models.base import Origin
from admission.thread.export import ExportedItem
from rlvram_site.ledger.chain import record_all

State = ChangeHead.State


@dataclass(frozen=True)
class LinkedChange:
    """A pull request as a cross-reference shows it, with the states that it is known to have reached."""

    repository: str
    number: int
    title: str
    moments: tuple[tuple[ChangeHead.State, dates.StatedTime], ...]
    referred: dates.StatedTime
    stated_in: str


def linked_change(item: ExportedItem) -> LinkedChange | None:
    """The pull request that ``item`` refers to the issue from; None for everything else."""
    source = item.raw.get("source")
    found = source.get("issue") if isinstance(source, dict) else None
    if item.event != "cross-referenced" or not isinstance(found, dict):
        return None
    pull, number = found.get("pull_request"), found.get("number")
    if not isinstance(pull, dict) or isinstance(number, bool) or not isinstance(number, int):
        return None
    repository = _repository(found)
    if not repository or not 1 <= number <= 2**31 - 1:
        return None
    title = found.get("title")
    named = title.strip()[:500] if isinstance(title, str) and title.strip() else f"Pull request {number}"
    return LinkedChange(
        repository, number, named, _moments(found, pull), item.stated, f"event-{item.identity}"
    )


def _repository(found: dict[str, Any]) -> str:
    repository = found.get("repository")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    if isinstance(name, str) and re.fullmatch(r"[\w.-]{1,100}/[\w.-]{1,100}", name):
        return name
    url = found.get("html_url")
    match = (
        re.match(r"https?://[\w.:-]+/([\w.-]{1,100}/[\w.-]{1,100})/(?:pull|issues)/", url)
        if isinstance(url, str)
        else None
    )
    return match[1] if match else ""


def _moments(
    found: dict[str, Any], pull: dict[str, Any]
) -> tuple[tuple[ChangeHead.State, dates.StatedTime], ...]:
    opened = State.DRAFT if found.get("draft") is True else State.OPEN
    moments = [(opened, found.get("created_at"))]
    if pull.get("merged_at"):
        moments.append((State.MERGED, pull.get("merged_at")))
    elif found.get("state") == "closed":
        moments.append((State.CLOSED, found.get("closed_at")))
    return tuple((state, stated) for state, value in moments if (stated := _time(value)) is not None)


def _time(value: Any) -> dates.StatedTime | None:
    try:
        return dates.parse_instant(value) if isinstance(value, str) else None
    except ValueError:
        return None


def record_linked_changes(issue: TrackedIssue, items: list[ExportedItem]) -> Counter[str]:
    """Record changes and states that are not recorded yet; how many of each."""
    added: Counter[str] = Counter()
    known: dict[tuple[str, int | None], Change] = {}
    own = issue.repository.lower()
    for change in issue.change_rows.all():
        known[(change.repository or own).lower(), change.number] = change
    keys = {*issue.change_rows.values_list("key", flat=True)}
    states: dict[str, set[str]] = {}
    for key, state in issue.changehead_rows.all().values_list("change__key", "state"):
        states.setdefault(key, set()).add(state)
    for linked in filter(None, map(linked_change, items)):
        identity = (linked.repository.lower(), linked.number)
        found = known.get(identity)
        if found is None:
            found = known[identity] = _change(issue, linked, own, keys)
            record_all([found])
            added["changes"] += 1
        given = states.setdefault(found.key, set())
        heads = []
        for state, stated in linked.moments:
            ends = state in (State.MERGED, State.CLOSED)
            # People say more than "open"; an end is news unless it was said.
            if state in given or (not ends and given):
                continue
            given.add(state)
            heads.append(_head(issue, found, linked, state, stated))
        record_all(heads)
        added["states of changes"] += len(heads)
    return added


def _change(issue: TrackedIssue, linked: LinkedChange, own: str, keys: set[str]) -> Change:
    foreign = linked.repository.lower() != own
    stem = re.sub(r"[^a-z0-9._-]+", "-", linked.repository.lower())[:90]
    key = f"change-{stem}-{linked.number}" if foreign else f"change-{linked.number}"
    while key in keys:
        key += "-x"
    keys.add(key)
    change = Change(
        issue=issue, key=key, origin=Origin.THREAD, repository=linked.repository if foreign else "",
        number=linked.number, title=linked.title, stated_in=linked.stated_in,
    )  # fmt: skip
    change.set_stated(linked.referred)
    return change


def _head(
    issue: TrackedIssue,
    change: Change,
    linked: LinkedChange,
    state: ChangeHead.State,
    stated: dates.StatedTime,
) -> ChangeHead:
    head = ChangeHead(
        issue=issue, key=f"{change.key.replace('change-', 'state-', 1)}-{state}", origin=Origin.THREAD,
        change=change, state=state, stated_in=linked.stated_in,
    )  # fmt: skip
    head.set_stated(stated)
    return head
