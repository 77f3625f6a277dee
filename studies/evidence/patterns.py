"""Patterns whose work grows with the text and never faster, whatever the text is.

Everything that is looked for in a file goes through RE2, which never goes back in the text. Logs are bytes in
any encoding, so patterns are compiled for bytes. A pattern that a protocol or a bundle brings is compiled by
the same engine under a limit of its own, or refused.
"""

from __future__ import annotations

from typing import Protocol

import re2

from studies.evidence.errors import EvidenceError

LONGEST_PATTERN = 1000
"""Characters of a pattern that comes from outside."""

PATTERN_MEMORY_BYTES = 4 << 20
"""Memory that the engine may use for a pattern that comes from outside."""


class Found(Protocol):
    """What a search found."""

    def start(self, group: int = 0) -> int: ...

    def end(self, group: int = 0) -> int: ...

    def group(self, group: int = 0) -> bytes | None: ...


class Pattern(Protocol):
    """A compiled pattern for bytes. `endpos` counts as the end of the text."""

    @property
    def pattern(self) -> bytes: ...

    @property
    def groupindex(self) -> dict[bytes, int]: ...

    def search(self, text: bytes, pos: int | None = None, endpos: int | None = None) -> Found | None: ...


def linear(pattern: str, *, ignore_case: bool = False) -> Pattern:
    """One of our own patterns, for bytes. Only ASCII, so that it means the same in any encoding."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = not ignore_case
    return re2.compile(pattern.encode("ascii"), options)


def untrusted(pattern: str, source: str, *, each_line: bool = False) -> Pattern:
    """A pattern from outside, for bytes.

    Args:
        pattern: the text of the pattern.
        source: names whose pattern it is in an error.
        each_line: `^` and `$` stand for the ends of every line, and no match reaches over one.

    Raises:
        EvidenceError: too long, too large once compiled, or nothing that the engine can read. It has no
            backreferences and no look-around, because those can't be found in linear time.
    """
    if len(pattern) > LONGEST_PATTERN:
        expected = f"at most {LONGEST_PATTERN} characters, found {len(pattern)}"
        raise EvidenceError(source, "pattern", pattern, expected)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY_BYTES
    options.never_nl = each_line
    if pattern.isascii():
        # Then a byte that belongs to no UTF-8 character is a character like any other.
        options.encoding = re2.Options.Encoding.LATIN1
    text = f"(?m:{pattern})" if each_line else pattern
    try:
        return re2.compile(text.encode("utf-8", "surrogatepass"), options)
    except re2.error as error:
        words = str(error.args[0] if error.args else error)
        reason = words if not isinstance(error.args[0], bytes) else error.args[0].decode("utf-8", "replace")
        expected = (
            "a regular expression in RE2's syntax, without backreferences and look-around, of at most"
            f" {PATTERN_MEMORY_BYTES >> 20} MiB when compiled ({reason})"
        )
        raise EvidenceError(source, "pattern", pattern, expected) from error
