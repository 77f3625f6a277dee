"""From the bytes of a log to its lines, in bounded memory.

Lines are counted at line feeds, so that numbers agree with `grep -n` and `sed -n`. A carriage return starts
a new piece of the same line: a progress bar is one line with many pieces. Bytes that are no text are
replaced, never refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_PIECE = 64 * 1024
"""Bytes of one piece. A longer one is looked at through windows of this length."""

WINDOW_OVERLAP = 1024
"""Bytes shared by two neighbouring windows, so that no message is cut between them."""

LONGEST_SHOWN = 2000
"""Characters of a line that are kept as evidence."""

_ANSI_BYTES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Some viewers drop the escape character and keep the rest of a colour code.
_BARE_COLOUR = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_PREFIX = re.compile(
    r"""\s*(?:
        \((?P<actor>[^()]{0,80}?\bpid=\d+[^()]{0,80}|raylet|gcs_server|autoscaler[^()]{0,20})\)
      | \[(?P<rank>rank\s?\d+|default\d+)\]:?
      | (?P<task>\d{1,4}):(?=\s)
      | \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?:\s*[|:-])?
      | \[[EWIF]\d{3,4}\s\d\d:\d\d:\d\d\.\d+\s[^\]]{0,120}\]
    )(?=[\s\[]|$)\s?""",
    re.VERBOSE,
)
_LEVEL = re.compile(
    r"""\s*\[?\b(?P<level>CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|DEBUG)\b\]?
        (?:\s\d\d-\d\d\s\d\d:\d\d:\d\d(?:\.\d+)?)?  # vLLM: ERROR 09-15 15:55:01 [core.py:708] …
        (?:\s\[[\w./-]+:\d+\])?
        (?:\s?[:|-])?\s?""",
    re.VERBOSE,
)
_REPEATED = re.compile(r"\s*\[repeated \d+x across (?:cluster|all nodes)\]")
_MOST_PREFIXES = 6
_PID = re.compile(r"\s*\bpid=(\d+).*")


class Piece(NamedTuple):
    """One piece of a line: its number from 1, and its bytes without colour codes."""

    number: int
    data: bytes


class Message(NamedTuple):
    """A piece taken apart.

    Attributes:
        source: who wrote it, as far as its prefixes say: `WorkerDict pid=7`, `rank3`, or empty.
        level: level of the logger, upper case, or empty.
        body: the text after the prefixes, without Ray's note on repetitions.
    """

    source: str
    level: str
    body: str


class LineSplitter:
    """Cuts a stream of bytes, fed in chunks of any size, into pieces. The cuts don't depend on the chunks."""

    def __init__(self) -> None:
        self._rest = b""
        self._number = 1
        self._decoder: codecs.IncrementalDecoder | None = None
        self._head: bytes | None = b""
        self.line_count = 0

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Pieces that are complete after `data`."""
        if self._head is not None:
            self._head += data
            if len(self._head) < 4:
                return
            data, self._head = self._without_mark(self._head), None
        elif self._decoder is not None:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        yield from self._split(data)

    def finish(self) -> Iterator[Piece]:
        """The pieces of a last line that has no line feed."""
        if self._head:
            data, self._head = self._without_mark(self._head), None
            yield from self._split(data)
        if self._rest:
            self.line_count += 1
            yield from self._pieces(self._rest)
            self._rest = b""

    def _without_mark(self, head: bytes) -> bytes:
        """The first bytes without a byte-order mark; UTF-16 is turned into UTF-8 from here on."""
        if head.startswith(codecs.BOM_UTF8):
            return head[len(codecs.BOM_UTF8) :]
        for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
            if head.startswith(mark):
                self._decoder = codecs.getincrementaldecoder(name)("replace")
                return self._decoder.decode(head[len(mark) :]).encode("utf-8", "replace")
        return head

    def _split(self, data: bytes) -> Iterator[Piece]:
        if b"\x00" in data:
            # UTF-16 without a mark, or holes of a file that was written sparsely.
            data = data.replace(b"\x00", b"")
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if len(line) <= LONGEST_PIECE and b"\r" not in line:
                yield Piece(self._number, _without_colour(line))
            else:
                yield from self._pieces(line)
            self._number += 1
            self.line_count += 1
        while len(self._rest) > LONGEST_PIECE:
            piece, self._rest = _first_piece(self._rest)
            yield Piece(self._number, _without_colour(piece))

    def _pieces(self, line: bytes) -> Iterator[Piece]:
        while len(line) > LONGEST_PIECE:
            piece, line = _first_piece(line)
            yield Piece(self._number, _without_colour(piece))
        for piece in line.split(b"\r"):
            if piece:
                yield Piece(self._number, _without_colour(piece))


def _first_piece(line: bytes) -> tuple[bytes, bytes]:
    """The first piece of a line longer than `LONGEST_PIECE`, and what is left of the line."""
    end = line.find(b"\r", 0, LONGEST_PIECE)
    if end >= 0:
        return line[:end], line[end + 1 :]
    return line[:LONGEST_PIECE], line[LONGEST_PIECE - WINDOW_OVERLAP :]


def _without_colour(data: bytes) -> bytes:
    return _ANSI_BYTES.sub(b"", data) if b"\x1b" in data else data


def text_of(data: bytes) -> str:
    """Readable text of a piece: UTF-8 with replacements, no colour codes, no control characters."""
    text = data.decode("utf-8", "replace")
    if "[" in text:
        text = _BARE_COLOUR.sub("", text)
    return _CONTROL.sub("", text)


def shown(text: str, around: int = 0) -> str:
    """A line as it is kept: stripped, and if it is very long only the part near position `around`."""
    if len(text) <= LONGEST_SHOWN:
        return text.strip()
    start = max(0, min(around - LONGEST_SHOWN // 4, len(text) - LONGEST_SHOWN))
    part = text[start : start + LONGEST_SHOWN].strip()
    return ("…" if start else "") + part + ("…" if start + LONGEST_SHOWN < len(text) else "")


def message_of(text: str) -> Message:
    """Separate who wrote a line and at which level from what it says."""
    writers: list[str] = []
    level, position = "", 0
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(text, position)
        if match:
            writers.append(_source(match))
            position = match.end()
            continue
        match = None if level else _LEVEL.match(text, position)
        if not match:
            break
        level, position = match["level"], match.end()
    repeated = _REPEATED.search(text, position)
    return Message(
        source=" / ".join(filter(None, writers)),
        level="WARNING" if level == "WARN" else level,
        body=text[position : repeated.start() if repeated else None],
    )


def _source(match: re.Match[str]) -> str:
    if match["actor"]:
        return _PID.sub(r" pid=\1", match["actor"])
    if match["rank"]:
        return match["rank"]
    return f"task {match['task']}" if match["task"] else ""
