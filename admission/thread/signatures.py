"""Who signed a comment: one account may post for several people, who put their name first."""

from __future__ import annotations

import re

_NAME = r"[A-ZÀ-ÖØ-Þ][\w'’-]{1,30}"
_OPENING = re.compile(
    rf"\s*(?:\*\*|__)?(?P<name>{_NAME}(?:\s{_NAME}){{0,2}})(?:\*\*|__)?"
    r"(?:\s*:(?:\*\*|__)?\s|\s+[—–]\s|,\s+reporting\b[^:\n]{0,80}:\s)"
)
# Openings that look alike and name nobody.
_NOT_NAMES = frozenset(
    [
        "actual",
        "action",
        "answer",
        "background",
        "bug",
        "caveat",
        "caution",
        "changed",
        "changes",
        "comment",
        "conclusion",
        "confirmed",
        "context",
        "cause",
        "danger",
        "details",
        "done",
        "edit",
        "edited",
        "environment",
        "error",
        "evidence",
        "example",
        "expected",
        "fix",
        "fixed",
        "hint",
        "idea",
        "important",
        "info",
        "issue",
        "log",
        "logs",
        "minimal",
        "motivation",
        "next",
        "note",
        "notes",
        "observed",
        "output",
        "patch",
        "plan",
        "possible",
        "post",
        "problem",
        "proposal",
        "question",
        "questions",
        "reason",
        "related",
        "repro",
        "reproduce",
        "reproduction",
        "resolution",
        "result",
        "results",
        "risk",
        "root",
        "scope",
        "solution",
        "stack",
        "status",
        "steps",
        "summary",
        "symptom",
        "test",
        "tests",
        "thanks",
        "tldr",
        "to",
        "todo",
        "trace",
        "update",
        "updated",
        "version",
        "versions",
        "warning",
        "why",
        "workaround",
    ]
)


def signed_name(text: str) -> str:
    """``Ada`` for ``Ada: …``, ``Ada — …`` and ``Ada, reporting Bo's work: …``; empty when nobody signed."""
    match = _OPENING.match(text)
    if match is None:
        return ""
    words = match["name"].split()
    return "" if any(word.lower() in _NOT_NAMES for word in words) else " ".join(words)
