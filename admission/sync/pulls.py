"""What the forge says of a pull request: its head, its checks, its reviews. Pure."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from admission.thread.export import ExportedItem

_SHA = re.compile(r"[0-9a-f]{40,64}")
_FAILED = {"failure", "timed_out", "action_required", "startup_failure", "error"}
_GREEN = {"success", "neutral", "skipped"}


@dataclass(frozen=True)
class PullAddress:
    """A pull request of the same forge."""

    owner: str
    name: str
    number: int

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def path(self) -> str:
        return f"repos/{self.owner}/{self.name}/pulls/{self.number}"

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


@dataclass(frozen=True)
class GivenReview:
    """A verdict that somebody gave on one head; ``dismissed`` if it was taken back since."""

    identity: int
    account: str
    head_sha: str
    verdict: str
    dismissed: bool
    at: str
    note: str


@dataclass(frozen=True)
class Pull:
    """A pull request as the forge has it. Times are in GitHub's own form, UTC."""

    address: PullAddress
    title: str
    head_sha: str
    state: str
    merged_sha: str
    at: str
    checks: str = "unstated"
    reviews: list[GivenReview] = field(default_factory=list)


def linked(items: Iterable[ExportedItem], host: str) -> list[PullAddress]:
    """The pull requests that the thread's events link, in the order in which they came, each once."""
    found: dict[PullAddress, None] = {}
    for item in items:
        source = item.raw.get("source")
        issue = source.get("issue") if isinstance(source, dict) else None
        if item.event != "cross-referenced" or not isinstance(issue, dict) or "pull_request" not in issue:
            continue
        address = _address(issue.get("html_url"), host)
        if address is not None:
            found[address] = None
    return list(found)


def _address(url: Any, host: str) -> PullAddress | None:
    if not isinstance(url, str):
        return None
    parts = urlsplit(url)
    named = re.fullmatch(r"/([\w.-]{1,100})/([\w.-]{1,100})/(?:pull|issues)/(\d{1,9})/?", parts.path)
    if named is None or parts.netloc.lower() != host:
        return None
    return PullAddress(named[1], named[2], int(named[3]))


def read_pull(address: PullAddress, document: Any) -> Pull | None:
    """The pull request in the forge's answer; None when it is not one that has a head."""
    if not isinstance(document, dict):
        return None
    head = document.get("head")
    sha = head.get("sha") if isinstance(head, dict) else None
    if not isinstance(sha, str) or not _SHA.fullmatch(sha):
        return None
    merged = bool(document.get("merged_at"))
    closed = document.get("state") == "closed"
    state = "merged" if merged else "closed" if closed else "draft" if document.get("draft") else "open"
    merge_sha = document.get("merge_commit_sha")
    title = document.get("title")
    moment = document.get("merged_at") or (document.get("closed_at") if closed else None)
    return Pull(
        address,
        title if isinstance(title, str) and title.strip() else str(address),
        sha,
        state,
        merge_sha if merged and isinstance(merge_sha, str) and _SHA.fullmatch(merge_sha) else "",
        _moment(moment or document.get("updated_at") or document.get("created_at")),
    )


def checks_of(runs: Iterable[Any], status: Any) -> tuple[str, str]:
    """What check runs and the older commit statuses add up to, and when the last of them ended.

    One failure fails; else one that is not done keeps it running; else one without a result leaves it
    unqualified. No check at all is not stated.
    """
    results, ended = [], ""
    for run in runs:
        if not isinstance(run, dict):
            continue
        results.append(run.get("conclusion") if run.get("status") == "completed" else "running")
        ended = max(ended, _moment(run.get("completed_at")))
    if isinstance(status, dict) and status.get("total_count"):
        state = status.get("state")
        results.append("running" if state == "pending" else state)
        for one in status.get("statuses") or []:
            ended = max(ended, _moment(one.get("updated_at")) if isinstance(one, dict) else "")
    if not results:
        return "unstated", ""
    if _FAILED & set(results):
        return "failed", ended
    if "running" in results:
        return "running", ended
    return ("green" if set(results) <= _GREEN else "not_qualified"), ended


def read_reviews(documents: Iterable[Any]) -> list[GivenReview]:
    """The verdicts among the forge's reviews. A mere comment, and one still being written, is no verdict."""
    words = {"APPROVED": "clear", "CHANGES_REQUESTED": "changes_required", "DISMISSED": ""}
    found = []
    for review in documents:
        if not isinstance(review, dict) or review.get("state") not in words:
            continue
        identity, sha, user = review.get("id"), review.get("commit_id"), review.get("user")
        if type(identity) is not int or not isinstance(sha, str) or not _SHA.fullmatch(sha):
            continue
        login = user.get("login") if isinstance(user, dict) else None
        body = review.get("body")
        found.append(
            GivenReview(
                identity,
                login if isinstance(login, str) else "somebody whose account is gone",
                sha,
                words[review["state"]],
                review["state"] == "DISMISSED",
                _moment(review.get("submitted_at")),
                body.strip()[:20_000] if isinstance(body, str) else "",
            )
        )
    return found


def _moment(value: Any) -> str:
    """A time in GitHub's form, else empty."""
    if not isinstance(value, str):
        return ""
    try:
        moment = dt.datetime.fromisoformat(value)
    except ValueError:
        return ""
    return f"{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}" if moment.tzinfo else ""
