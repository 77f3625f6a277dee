"""Records that imported text suggests, and what a reviewer makes of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from admission.models import Proposal, StatusUpdate, TrackedIssue
from admission.models.base import IssueRecord, Origin
from admission.thread.mentions import Mention, mentions

MAX_PER_STATEMENT = 1_000


def proposals_from(issue: TrackedIssue, statements: Sequence[IssueRecord]) -> list[Proposal]:
    """New proposals found in ``statements`` (with a ``body``), each pointing at its first sentence.

    What is already proposed or recorded is left out. The rows are not saved.
    """
    known = set(issue.proposal_rows.all().values_list("key", flat=True)) | _recorded(issue)
    found: list[Proposal] = []
    for statement in statements:
        heading = statement.heading if isinstance(statement, StatusUpdate) else ""
        text = f"{heading}\n{statement.body}".strip()  # type: ignore[attr-defined]
        for mention in mentions(text)[:MAX_PER_STATEMENT]:
            value = _with_source(mention, statement)
            key = proposal_key(mention.kind, value)
            if key in known:
                continue
            known.add(key)
            proposal = Proposal(
                issue=issue,
                key=key,
                origin=Origin.THREAD,
                kind=mention.kind,
                found=mention.found,
                value=value,
                stated_in=statement.key,
                sentence=mention.sentence,
                stated_words=statement.stated_words,
                stated_precision=statement.stated_precision,
                stated_day=statement.stated_day,
                sort_at=statement.sort_at,
            )
            found.append(proposal)
    return found


def _with_source(mention: Mention, statement: IssueRecord) -> dict[str, Any]:
    """What a mention would record. A verdict or failure is its statement's: two may say the same."""
    if mention.kind == "verdict":
        reviewer = getattr(statement, "signed_name", "") or getattr(statement, "account", "")
        return {**mention.value, "reviewer": reviewer}
    if mention.kind == "failure":
        return {**mention.value, "said_in": statement.key}
    return mention.value


def proposal_key(kind: str, value: dict) -> str:
    """The same thing named twice is proposed once; its name follows from what it is."""
    text = json.dumps([kind, value], sort_keys=True)
    return f"proposal-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _recorded(issue: TrackedIssue) -> set[str]:
    """Names that proposals of already recorded things would have."""
    keys: set[str] = set()
    own = issue.repository.lower()
    for repository, number in issue.change_rows.all().values_list("repository", "number"):
        spellings: Iterable[str] = {repository} if repository else {"", issue.repository}
        if repository.lower() == own:
            spellings = {repository, ""}
        keys |= {proposal_key("change", {"repository": s, "number": number}) for s in spellings}
    for sha in issue.changehead_rows.all().values_list("sha", flat=True):
        keys.add(proposal_key("commit", {"sha": sha}))
    for location, sha in issue.receipt_rows.all().values_list("location", "sha256"):
        keys.add(proposal_key("receipt", {"location": location, "sha256": sha}))
    for size, words in issue.measurement_rows.all().values_list("size_bytes", "size_words"):
        keys.add(
            proposal_key("size", {"size_bytes": size, "size_words": words} if words else {"size_bytes": size})
        )
    return keys
