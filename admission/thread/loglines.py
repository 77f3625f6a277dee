"""Numbers of an admission decision and of what happened, from a pasted log line or message. No Django.

Nothing is guessed: a number counts only with the word that says what it is beside it.
"""

from __future__ import annotations

import re
from typing import Any

from admission.thread.mentions import OUT_OF_MEMORY, size_of

MAX_PASTED = 20_000
_SIZE = r"(?P<size>[\d,]+(?:\.\d+)?[\s-]?(?:[KMGT]iB|[kKMGT]?B\b|bytes?))"
_BETWEEN = r"[^.;\n\d]{0,40}?"
_BEFORE = {
    "required": r"(?:required|requires|requirement|predicted|prediction|needs?|estimate[ds]?)",
    "usable": r"(?:usable|available|budget)",
    "failed_request": r"(?:tried to allocate|requesting|requested|asking(?: for)?)",
    "allocated": r"(?:allocated)",
}
_AFTER = {
    "required": r"(?:required|predicted|estimated|prediction)",
    "usable": r"(?:usable|available|budget)",
    "free": r"(?:is |are )?free",
    "allocated": r"(?:is |are )?allocated",
}
_TOKENS = re.compile(r"(?P<number>\d[\d,]*)\s+(?P<kind>packed|logical)\b")
_REFUSED = re.compile(
    r"\b(?:refus(?:ed|es|al)|rejected|exceeds? (?:the )?available|does not fit|TrainerRankMemoryError)\b",
    re.IGNORECASE,
)
_ADMITTED = re.compile(r"\b(?:admitted|admits|accepted)\b", re.IGNORECASE)


def read_log(text: str) -> dict[str, Any]:
    """What ``text`` says, as fields of a witness: decision, outcome, sizes, tokens, trust."""
    text = text[:MAX_PASTED]
    found: dict[str, Any] = {}
    for name in ("required", "usable", "failed_request", "free", "allocated"):
        words = _size_beside(text, name)
        if words and (size := size_of(words)) is not None:
            found[f"{name}_bytes"] = size
            if not re.fullmatch(r"[\d,]+[\s-]?(?:B|bytes?)", words):
                found[f"{name}_words"] = words
    for match in _TOKENS.finditer(text):
        found.setdefault(f"{match['kind']}_tokens", int(match["number"].replace(",", "")[:15]))
    if re.search(r"cold_start\s*=\s*True|\bcold\b", text):
        found["trusted"] = False
    elif re.search(r"cold_start\s*=\s*False|(?<!un)\btrusted\b", text, re.IGNORECASE):
        found["trusted"] = True
    if OUT_OF_MEMORY.search(text):
        found |= {"decision": "admitted", "outcome": "device_oom"}
    elif _REFUSED.search(text):
        found |= {"decision": "refused", "outcome": "not_executed"}
    elif _ADMITTED.search(text):
        found |= {"decision": "admitted", "outcome": "unresolved"}
    if found.get("outcome") != "device_oom":
        for name in ("failed_request", "free"):
            found.pop(f"{name}_bytes", None)
            found.pop(f"{name}_words", None)
    return found


def _size_beside(text: str, name: str) -> str:
    """The size that stands after the word for ``name``, or right before it."""
    if after := _AFTER.get(name):
        match = re.search(rf"{_SIZE}\s+(?:of which\s+)?{after}\b", text, re.IGNORECASE)
        if match:
            return match["size"].strip()
    if before := _BEFORE.get(name):
        match = re.search(rf"\b{before}\b{_BETWEEN}{_SIZE}", text, re.IGNORECASE)
        if match:
            return match["size"].strip()
    return ""
