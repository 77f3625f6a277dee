"""What a program writes for people, without anything that a terminal would obey.

Names of slots, texts of logs and answers come from others. A control character in one could move the cursor,
a C1 code could start a sequence, and a bidirectional mark could show a line in another order than it has.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, TextIO

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escaped(text: str) -> str:
    """``text`` with such characters spelled as ``\\uXXXX``, which JSON takes as well."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Escaped:
    """A stream that spells out what a terminal would obey. A progress bar may go back to its line's start."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        start = "\r" if text.startswith("\r") and self._stream.isatty() else ""
        self._stream.write(start + escaped(text.removeprefix(start)))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_terminal() -> None:
    """From here on this process writes plain text only. A second call changes nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Escaped):
            setattr(sys, name, Escaped(stream))


class PlainHandler(logging.StreamHandler):
    """Log lines to standard error, spelled out in the same way."""

    def __init__(self) -> None:
        super().__init__(Escaped(sys.stderr))
