"""Dated status statements inside an issue's body.

A body that is edited in place carries several: each opens with a line that names a day ("March 4, 2026 — …",
"Current status — March 4: …", "## Update (2026-03-04)") and runs to the next. Whatever no such line
claims is the report that opened the issue. Nothing here knows one project's habits: a line opens a statement
when it starts a paragraph, names a day early on, and sets the day off from what follows.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from dataclasses import dataclass
from itertools import pairwise

from admission import dates
from admission.thread.signatures import signed_name

MAX_LEAD = 60
MAX_CLAIM = 160
MAX_BLOCKS = 2_000

_MARKUP = " \t>#*_~`=-"
_STATUS_WORDS = re.compile(
    r"^(?:(?:current|latest|new|interim|weekly|daily|short|final|project|issue|as of|the)\s+)*"
    r"(?:status|updated?|edit(?:ed)?|progress|report|reconciliation|news|addendum|summary|state|"
    r"correction|postscript|ps)\b[\w\s]{0,30}[\s:(\[—–,-]*(?:as of|on|from|for)?[\s:(\[—–,-]*$",
    re.IGNORECASE,
)
_AFTER_DATE = re.compile(
    r"^[\])*_`~]*\s*(?P<words>(?:[A-Za-z][\w/&'-]*\s+){0,8}?[A-Za-z][\w/&'-]*)?[\])*_`~]*\s*(?P<mark>[:—–]|\s-\s|-\s|[.]?$)"
)
_PRESERVED = re.compile(
    r"^(?:all\s+)?(?:earlier|older|previous|prior|historical|original|past|history)\b.{0,200}"
    r"(?:preserved|retained|follows|below|kept|archive|superseded|history|record|report|text|\(old\))",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"\((?P<name>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2})\)\s*$")


@dataclass(frozen=True)
class StatusBlock:
    """One statement. ``stated`` is None for the original report, whose day the issue itself gives."""

    heading: str
    claim: str
    body: str
    stated: dates.StatedTime | None
    signed_name: str
    supersedes_words: str

    @property
    def is_report(self) -> bool:
        return self.stated is None

    @property
    def text_sha256(self) -> str:
        """Of heading and body without their spacing and markup, so that moved text is recognised."""
        return text_sha256(f"{self.heading}\n{self.body}")


def text_sha256(text: str) -> str:
    """Digest of ``text`` without white space and without list, quote and emphasis marks."""
    return hashlib.sha256(re.sub(r"[\s>#*_~`•-]+", "", text).encode()).hexdigest()


@dataclass
class _Open:
    heading: str
    rest: str
    label: str
    stated: dates.StatedTime | None
    signed: str
    lines: list[str]
    preserved: str = ""


def status_blocks(body: str, existed_on: dt.date) -> list[StatusBlock]:
    """The statements of ``body``, oldest first.

    ``existed_on`` is a day on which the text is known to have existed; it completes days without a year.
    Statements are returned in the order of their days; those of one day in the order in which they were
    added, which is the reverse of the body's when the body puts new ones on top.
    """
    blocks: list[_Open] = [_Open("", "", "", None, "", [])]
    fence = ""
    previous_blank = True
    for line in body.splitlines():
        stripped = line.strip()
        mark = re.match(r"(`{3,}|~{3,})", stripped)
        if mark and not fence:
            fence = mark[1]
        elif fence and stripped.startswith(fence[:3]) and not stripped.strip(fence[0]):
            fence = ""
        elif not fence and previous_blank and stripped:
            plain = line.strip(_MARKUP)
            if opened := _heading(plain, existed_on):
                blocks.append(opened)
                previous_blank = False
                continue
            if _is_preserved_line(plain):
                blocks[-1].preserved = plain
                blocks.append(_Open("", "", "", None, "", []))
                previous_blank = True
                continue
        blocks[-1].lines.append(line)
        # A markdown heading ends its paragraph by itself.
        previous_blank = not stripped or stripped.startswith("#")
        if len(blocks) > MAX_BLOCKS:
            break
    return _ordered([_finished(block) for block in _merged(blocks)])


def _is_preserved_line(plain: str) -> bool:
    return len(plain) <= 240 and plain.endswith((":", ".")) and bool(_PRESERVED.match(plain))


def _heading(plain: str, existed_on: dt.date) -> _Open | None:
    found = dates.find(plain[: MAX_LEAD + 60], existed_on)
    if found is None or found[1] > MAX_LEAD:
        return None
    stated, start, end = found
    lead = plain[:start]
    if lead and not _STATUS_WORDS.match(lead):
        return None
    following = plain[end : end + MAX_CLAIM * 2]
    if lead and (signed := _SIGNED.search(following)) and not following[: signed.start()].strip(" )]*_`:."):
        return _Open(plain, "", lead.strip(" —–-:(["), stated, signed["name"], [])
    after = _AFTER_DATE.match(following)
    if after is None:
        return None
    words = (after["words"] or "").strip()
    rest = plain[end + after.end() :].strip().lstrip("*_` ")
    if not lead and not words and not after["mark"].strip() and rest:
        return None
    if not lead and words and after["mark"] in ("", ".") and not _STATUS_WORDS.match(words):
        return None  # a short sentence that starts with a date
    return _Open(plain, rest, words or lead.strip(" —–-:(["), stated, "", [])


def _merged(blocks: list[_Open]) -> list[_Open]:
    """Undated parts at the top and at the end together are one report; an empty one is none.

    Undated text between two statements is the upper one's, however that introduces it.
    """
    for place in range(len(blocks) - 2, 0, -1):
        between, upper = blocks[place], blocks[place - 1]
        if between.stated is None and "".join(between.lines).strip() and upper.stated is not None:
            upper.lines += ["", upper.preserved, *between.lines]
            upper.preserved = between.preserved
            between.lines = []
    dated = [block for block in blocks if block.stated is not None]
    reports = [block for block in blocks if block.stated is None and "".join(block.lines).strip()]
    if not reports:
        return dated
    first, *others = reports
    for other in others:
        first.lines += ["", *other.lines]
        first.preserved = first.preserved or other.preserved
    return [*dated, first]


def _finished(block: _Open) -> StatusBlock:
    body = "\n".join(block.lines).strip("\n")
    long_rest = len(block.rest) > MAX_CLAIM
    if block.stated is None:
        claim = "original report"
    elif block.rest and not long_rest:
        claim = block.rest
    elif long_rest and block.label and not _STATUS_WORDS.match(block.label):
        claim = block.label
    else:
        claim = _first_sentence(block.rest or body) or block.label or "no claim stated"
    if long_rest:
        # The heading's own line carries the text; the heading is what stands before it.
        head = block.heading[: len(block.heading) - len(block.rest)].strip()
        body = f"{block.rest}\n{body}".strip("\n")
    else:
        head = block.heading
    return StatusBlock(head, claim, body, block.stated, block.signed, block.preserved)


def _plain(line: str) -> str:
    """``line`` without the marks around it; the ``#`` of a reference stays."""
    return re.sub(r"^(?:#(?!\d)|[^\w#(\[“\"'])+", "", line.strip()).rstrip(_MARKUP)


def _first_sentence(text: str) -> str:
    line = next((line for line in map(str.strip, text.splitlines()) if line), "")
    end = re.search(r"[.!?](?=\s|$)", line)
    sentence = _plain(line[: end.end()] if end else line)
    return sentence if len(sentence) <= MAX_CLAIM else f"{sentence[: MAX_CLAIM - 1].rstrip()}…"


def _ordered(blocks: list[StatusBlock]) -> list[StatusBlock]:
    dated = [block for block in blocks if block.stated is not None]
    days = [block.stated.day for block in dated if block.stated]
    falls = sum(1 for a, b in pairwise(days) if b < a)
    rises = sum(1 for a, b in pairwise(days) if b > a)
    if falls >= rises:
        dated.reverse()
    dated.sort(key=lambda block: block.stated.sort_at if block.stated else dt.datetime.min)
    return [block for block in blocks if block.stated is None] + dated


_KEEPS_OPEN = re.compile(
    r"\b(?:keep|keeping|leave|leaving)\s+(?:#\d+|this(?:\s+issue)?|it|the\s+issue)\s+open\b", re.IGNORECASE
)
_STATES = re.compile(
    r"^(?:(?:current|latest|overall|short)\s+)?"
    r"(?:status|state of (?:this|the) issue|reconciled|reconciliation)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)|.+$", re.DOTALL)


def status_claim(comment: str) -> str:
    """What a comment claims about the issue, if its first sentences say where that stands; else empty.

    A comment counts that opens with a word for status, or that says at once to keep the issue open.
    """
    text = comment.lstrip()
    if signed_name(text):
        text = re.sub(r"^.*?(?::\**\s|\s[—–]\s)", "", text, count=1, flags=re.DOTALL)
    first_paragraph = text.lstrip()[:600].split("\n\n")[0]
    sentences = [_plain(m[0]) for m in _SENTENCE.finditer(first_paragraph)][:2]
    if not sentences or not (_STATES.match(sentences[0]) or any(map(_KEEPS_OPEN.search, sentences))):
        return ""
    both = " ".join(sentences)
    claim = both if len(sentences) > 1 and len(both) <= MAX_CLAIM else sentences[0]
    claim = " ".join(claim.split())
    return claim if len(claim) <= MAX_CLAIM else f"{claim[: MAX_CLAIM - 1].rstrip()}…"
