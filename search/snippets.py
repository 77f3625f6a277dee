"""The part of a record's words in which a query was found."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

AROUND = 60
LONGEST = 240


def marked(text: str, words: Sequence[str]) -> SafeString:
    """``text`` with every word of the query marked, or the piece around the first of them if it is long."""
    spans = _spans(text, words)
    start = max(0, spans[0][0] - AROUND) if spans else 0
    end = min(len(text), start + LONGEST)
    pieces: list[tuple[str, str]] = []
    here = start
    for begin, stop in spans:
        if begin < here or stop > end:
            continue
        pieces.append((text[here:begin], text[begin:stop]))
        here = stop
    body = format_html_join("", "{}<mark>{}</mark>", pieces)
    return format_html(
        "{}{}{}{}", "… " if start else "", body, text[here:end], " …" if end < len(text) else ""
    )


def _spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    lowered = text.lower()
    if len(lowered) != len(text):
        # Lower case is longer in a few letters; places would not agree.
        lowered = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    found: list[tuple[int, int]] = []
    for word in words:
        begin = lowered.find(word)
        while begin >= 0 and len(found) < 200:
            found.append((begin, begin + len(word)))
            begin = lowered.find(word, begin + len(word))
    # Of two that begin alike the longer one is marked.
    return sorted(found, key=lambda span: (span[0], -span[1]))
