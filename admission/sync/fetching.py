"""One issue as the forge has it now: the issue, its whole timeline, and the pull requests it links."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from admission.sync.addresses import Address
from admission.sync.answers import Answers
from admission.sync.errors import ForgeTrouble, NotAllowed, NotFound
from admission.sync.pulls import Pull, PullAddress, checks_of, linked, read_pull, read_reviews
from admission.thread.export import ExportedIssue, ExportedItem, read_issue, read_timeline
from admission.thread.reading import ExportError

Step = Callable[[int, int, str], None]
PER_PAGE = 100


@dataclass(frozen=True)
class Fetched:
    """Everything of one issue. The same ``sha256`` again says that nothing of it changed."""

    exported: ExportedIssue
    items: list[ExportedItem]
    pulls: list[Pull]
    sha256: str


def fetch_issue(
    answers: Answers, address: Address, known: Callable[[ExportedIssue], Iterable[PullAddress]], step: Step
) -> Fetched:
    """Read the issue. ``known`` gives the pull requests that are recorded for it already.

    Raises a ``SyncError``, or ``ExportError`` where the forge's answer is no issue.
    """
    step(0, 2, f"reading {address}")
    issue = answers.page(f"repos/{address.repository}/issues/{address.number}", what=str(address))
    exported = read_issue(issue, str(address))
    texts = [issue]
    path = f"repos/{exported.owner}/{exported.name}/issues/{exported.number}/timeline?per_page={PER_PAGE}"
    for number, page in enumerate(answers.pages(path, what=f"the timeline of {address}"), 1):
        texts.append(page)
        step(1, 2, f"read {number} page{'s' if number > 1 else ''} of the timeline")
    items = read_timeline("\n".join(texts[1:]), f"the timeline of {exported.full_name}", exported)
    wanted = list(dict.fromkeys([*known(exported), *linked(items, answers.forge.host)]))
    pulls = []
    for number, pull in enumerate(wanted):
        step(1 + number, 2 + len(wanted), f"reading the pull request {pull}")
        found = _pull(answers, pull)
        if found is not None:
            pulls.append(found)
    step(1 + len(wanted), 2 + len(wanted), "recording what is new")
    content = json.dumps([*texts, *(repr(pull) for pull in pulls)])
    return Fetched(exported, items, pulls, hashlib.sha256(content.encode()).hexdigest())


def _pull(answers: Answers, address: PullAddress) -> Pull | None:
    """A pull request with checks and reviews; None if it is gone, or not for us to see."""
    try:
        document = json.loads(answers.page(address.path, what=str(address)))
    except (NotFound, NotAllowed):
        # One linked change in a private repository must not keep the issue from being read.
        return None
    pull = read_pull(address, document)
    if pull is None:
        return None
    # A pull request may come from a fork, but its checks are the target repository's.
    commit = f"repos/{address.repository}/commits/{pull.head_sha}"
    runs = _lists(
        answers, f"{commit}/check-runs?per_page={PER_PAGE}", f"the checks of {address}", "check_runs"
    )
    status = _optional(answers, f"{commit}/status", f"the statuses of {address}")
    checks, ended = checks_of(runs, status)
    reviews = _lists(answers, f"{address.path}/reviews?per_page={PER_PAGE}", f"the reviews of {address}", "")
    at = max(pull.at, ended) if pull.state in ("open", "draft") else pull.at
    return replace(pull, checks=checks, at=at, reviews=read_reviews(reviews))


def _lists(answers: Answers, path: str, what: str, inside: str) -> list[Any]:
    """The items of a paged list, which the forge may keep ``inside`` an object; empty if it shows none."""
    found: list[Any] = []
    try:
        for page in answers.pages(path, what=what):
            value = json.loads(page)
            part = value.get(inside) if inside and isinstance(value, dict) else value
            if not isinstance(part, list):
                raise ForgeTrouble(
                    f"{answers.forge.host} answered with something else than a list for {what}."
                )
            found += part
    except (NotFound, NotAllowed):
        return []
    return found


def _optional(answers: Answers, path: str, what: str) -> Any:
    try:
        return json.loads(answers.page(path, what=what))
    except (NotFound, NotAllowed):
        return None


@dataclass(frozen=True)
class Listed:
    """An issue in a repository's list, and when it last changed."""

    number: int
    updated: str


def listed(text: str, what: str) -> list[Listed]:
    """The issues in one page of a repository's list; pull requests stand there as well and are left out."""
    value = json.loads(text)
    if not isinstance(value, list):
        raise ExportError(f"{what}: expected a list of issues")
    return [
        Listed(item["number"], str(item.get("updated_at", "")))
        for item in value
        if isinstance(item, dict) and type(item.get("number")) is int and "pull_request" not in item
    ]


def last_update(text: str) -> str:
    """The latest ``updated_at`` in a page of a list that is sorted by it, whatever the item is."""
    value = json.loads(text)
    return max((str(item.get("updated_at", "")) for item in value if isinstance(item, dict)), default="")
