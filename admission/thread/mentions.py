"""What a text names: changes, commits, receipts, sizes, verdicts, failures, each with its sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

MAX_SENTENCE = 600

# Abbreviated hashes hold a digit and a letter: a word such as "defaced" or a run number is none.
_SHA = r"(?=[0-9a-f]{0,39}[0-9])(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,64}"
MAX_PATH = 400
DIGEST = re.compile(rf"\(`?(?P<sha>{_SHA})`?\)")
PATH_BEFORE = re.compile(r"[\w./{},@~+-]*[\w@~+-]\.(?:jsonl?|md|log|txt|csv)$")
LABELLED = re.compile(
    rf"\b(?P<label>manifest|sha-?256|digest|result SHA)\s*[:=]?\s*`?(?P<sha>{_SHA})`?\b", re.IGNORECASE
)
CHANGE = re.compile(
    r"(?:\b(?P<repository>[A-Za-z0-9][\w.-]{0,98}/[A-Za-z0-9][\w.-]{0,98})#"
    r"|\b(?:PR|pull request|merged|draft|held)\s+#|https://github\.com/(?P<path>[\w.-]+/[\w.-]+)/pull/)"
    r"(?P<number>[1-9]\d{0,8})\b"
    # A bare reference may be an issue; with a commit right behind it, it is a change.
    rf"|(?<![\w/])#(?P<bare>[1-9]\d{{0,8}})(?=\s*(?:\(|\||is|at|@)\s*`?{_SHA}\b)",
    re.IGNORECASE,
)
COMMIT = re.compile(rf"(?<![\w/.-]){_SHA}(?![\w-])")
SIZE = re.compile(r"(?<![\w.,])(?P<number>\d{1,3}(?:,\d{3})+|\d{4,18})(?:\s*B\b|[\s-]+bytes?\b)")
UNITS = {
    "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
ROUNDED = re.compile(
    r"(?<![\w.,])(?P<number>(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,9})?)[\s-]?(?P<unit>[KMGT]iB|[kKMGT]B)\b"
)
# Words that reviewers set off in capitals or that only a review uses; "clear" in running text is none.
VERDICT = re.compile(
    r"\b(?:(?P<withdrawn>WITHDRAWN|(?i:clearance\b[^.\n]{0,60}\bwithdrawn))"
    r"|(?P<changes_required>CHANGES (?:REQUIRED|REQUESTED)|(?i:changes requested|requested changes))"
    r"|(?P<inconclusive>INCONCLUSIVE)"
    r"|(?P<clear>CLEAR|LGTM|(?i:approved these changes)))\b"
)
OUT_OF_MEMORY = re.compile(
    r"\b(?:OutOfMemoryError|(?:CUDA )?out of (?:device |GPU |CUDA )?memory"
    r"|(?:hard-)?OOM(?:s|ed|'d|-?killed)?)\b",
    re.IGNORECASE,
)
REQUEST = re.compile(
    r"(?:tried to allocate|request(?:ing|ed)?(?: of)?|asking(?: for)?|allocate)\s+"
    r"(?P<size>[\d,.]+[\s-]?(?:[KMGT]iB|[kKMGT]?B)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mention:
    """Something named in a text. ``value`` is what a record of it would hold; offsets are characters."""

    kind: str
    found: str
    start: int
    sentence: str
    value: dict[str, Any] = field(hash=False)


def mentions(text: str) -> list[Mention]:
    """Every distinct thing that ``text`` names, in order of first appearance."""
    seen: set[tuple[str, str]] = set()
    distinct = []
    for mention in sorted(_all(text), key=lambda m: m.start):
        identity = (mention.kind, str(sorted(mention.value.items())))
        if identity not in seen:
            seen.add(identity)
            distinct.append(mention)
    return distinct


def _all(text: str) -> Iterator[Mention]:
    digests: set[int] = set()
    for match in DIGEST.finditer(text):
        # Looking back from the digest keeps the time linear in the text, whatever the text is.
        before = text[max(0, match.start() - MAX_PATH) : match.start()].rstrip(" `")
        path = PATH_BEFORE.search(before.rpartition("\n")[2].rpartition(" ")[2])
        if path is None:
            continue
        digests.add(match.start("sha"))
        value = {"location": path[0], "sha256": match["sha"]}
        yield _mention("receipt", text, text.rindex(path[0], 0, match.start()), match.end("sha"), value)
    for match in LABELLED.finditer(text):
        if match.start("sha") not in digests:
            digests.add(match.start("sha"))
            value = {"location": "", "sha256": match["sha"]}
            yield _mention("receipt", text, match.start("sha"), match.end("sha"), value)
    for match in COMMIT.finditer(text):
        if match.start() not in digests and len(match[0]) <= 40:
            yield _mention("commit", text, match.start(), match.end(), {"sha": match[0]})
    for match in CHANGE.finditer(text):
        repository = match["repository"] or match["path"] or ""
        value = {"repository": repository, "number": int(match["number"] or match["bare"])}
        yield _mention("change", text, match.start(), match.end(), value)
    for match in SIZE.finditer(text):
        value = {"size_bytes": int(match["number"].replace(",", ""))}
        yield _mention("size", text, match.start(), match.end(), value)
    for match in ROUNDED.finditer(text):
        if (size := size_of(match[0])) is not None:
            value = {"size_bytes": size, "size_words": match[0]}
            yield _mention("size", text, match.start(), match.end(), value)
    yield from _verdicts(text)
    yield from _failures(text)


def size_of(words: str) -> int | None:
    """The bytes that ``3.25 GiB`` or ``6,713,560,268 B`` means; None for what is no size."""
    match = re.fullmatch(
        r"(?P<number>[\d,]+(?:\.\d+)?)[\s-]?(?P<unit>[KMGT]iB|[kKMGT]?B|bytes?)", words.strip()
    )
    if match is None:
        return None
    unit = "B" if match["unit"].startswith("byte") else match["unit"]
    try:
        size = int(Decimal(match["number"].replace(",", "")) * UNITS[unit])
    except InvalidOperation:
        return None
    return size if size < 2**63 else None


def _verdicts(text: str) -> Iterator[Mention]:
    for match in VERDICT.finditer(text):
        said = sentence(text, match.start(), match.end())
        head = next((m[0] for m in COMMIT.finditer(said) if len(m[0]) <= 40), "")
        value = {"verdict": match.lastgroup, "head_sha": head}
        yield _mention("verdict", text, match.start(), match.end(), value)


def _failures(text: str) -> Iterator[Mention]:
    """One for each sentence that tells of a run out of memory, with the request that failed if it says."""
    seen: set[str] = set()
    for match in OUT_OF_MEMORY.finditer(text):
        said = sentence(text, match.start(), match.end())
        # A message goes on after its first full stop: "CUDA out of memory. Tried to allocate 3.25 GiB."
        around = REQUEST.search(text, match.end(), match.end() + 200) or REQUEST.search(said)
        words = around["size"].strip(" .,") if around else ""
        value: dict[str, Any] = {"outcome": "device_oom"}
        if words and (size := size_of(words)) is not None:
            value |= {"failed_request_bytes": size, "failed_request_words": words}
        if said not in seen:
            seen.add(said)
            yield _mention("failure", text, match.start(), match.end(), value)


def _mention(kind: str, text: str, start: int, end: int, value: dict[str, Any]) -> Mention:
    return Mention(kind, text[start:end], start, sentence(text, start, end), value)


def sentence(text: str, start: int, end: int) -> str:
    """The sentence around ``text[start:end]``, cut to ``MAX_SENTENCE`` characters."""
    left = max(0, start - MAX_SENTENCE // 2)
    right = min(len(text), end + MAX_SENTENCE // 2)
    before = [match.end() for match in re.finditer(r"[.!?]\s+(?=[A-Z(\[`*])|\n", text[left:start])]
    after = re.search(r"[.!?](?=\s|$)|\n", text[end:right])
    first = left + (before[-1] if before else 0)
    if first == left and left > 0:
        # Cut in the middle of a long sentence: start with a whole word.
        first = next((i for i in range(left, start) if text[i].isspace()), left)
    last = end + after.end() if after else right
    return text[first:last].strip()
