"""From the bytes of a log to blocks of whole lines, in bounded memory, and from one piece to what it says.

Lines are counted at line feeds, so that numbers agree with `grep -n` and `sed -n`. A carriage return starts
a new piece of the same line: a progress bar is one line with many pieces. Bytes that are no text are
replaced, never refused.

The patterns here are Python's own because they run over every coloured line, and RE2 costs ten times as much
per call. They can't go back in the text: each repetition is possessive or bounded by a small number.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_PIECE = 64 * 1024
"""Bytes of one piece. A longer one is looked at through windows of this length."""

WINDOWED_FROM = LONGEST_PIECE + 4096
"""Bytes from which on a piece is cut into windows."""

WINDOW_OVERLAP = 1024
"""Bytes shared by two neighbouring windows, so that no message is cut between them."""

LONGEST_KEPT = 4096
"""Bytes of a piece that are kept as one of the lines around a line of evidence."""

LONGEST_SHOWN = 2000
"""Characters of a line that are kept as evidence."""

_ANSI = re.compile(rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[@-Z\\-_])")
# Some viewers drop the escape character and keep the rest of a colour code.
_BARE_COLOUR = re.compile(rb"\[\d{1,3}+(?:;\d{1,3}+)*+m")
_CONTROL = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])

_PREFIX = re.compile(
    rb"""\s*+(?:
        \((?P<actor>[^()]{1,200}+)\)
      | \[(?P<rank>rank\s?\d{1,9}+|default\d{1,9}+)\]:?
      | (?P<task>\d{1,4}+):(?=\s)
      | (?P<stamp>
            \[\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d{1,12}+)?(?:Z|[+-]\d\d:?\d\d)?
                (?:\s[\w/.-]{1,40}+){0,4}+\](?:\s{0,8}+[|:-])?
          | \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d{1,12}+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?:\s{0,8}+[|:-])?
          | \[[EWIF]\d{3,4}\s\d\d:\d\d:\d\d\.\d{1,12}+\s[^\]]{0,120}+\]
        )
    )(?=[\s\[]|$)\s?""",
    re.VERBOSE,
)
_LEVEL = re.compile(
    rb"""\s*+\[?\b(?P<level>CRITICAL|FATAL|ERROR|WARNING|WARN|INFO|DEBUG)\b\]?
        (?:\s\d\d-\d\d\s\d\d:\d\d:\d\d(?:\.\d{1,12}+)?)?  # vLLM: ERROR 09-15 15:55:01 [core.py:708]
        (?:\s\[[\w./-]{1,200}+:\d{1,9}+\])?
        (?:\s?[:|-])?\s?""",
    re.VERBOSE,
)
_REPEATED = re.compile(rb"\s{0,8}+\[repeated \d{1,9}+x across (?:cluster|all nodes)\]")
_MOST_PREFIXES = 6
_ACTORS = (b"raylet", b"gcs_server", b"autoscaler")


class Piece(NamedTuple):
    """One piece of a line: its number from 1, and its bytes without colour codes."""

    number: int
    data: bytes


class Block(NamedTuple):
    """Whole pieces that follow one another.

    Attributes:
        data: their bytes without colour codes, each closed by a line feed or a carriage return, but perhaps
            not the last of a log.
        number: of the line that the first byte belongs to.
        window: they are one window into a piece longer than `LONGEST_PIECE`, which goes on behind it.
    """

    data: bytes
    number: int
    window: bool = False


class Message(NamedTuple):
    """A piece taken apart.

    Attributes:
        writer: the outermost writer that its prefixes name: `WorkerDict pid=7`, `rank3`, or empty.
        source: all writers that its prefixes name, from the outside in, or empty.
        level: level of the logger, upper case, or empty.
        stamped: a logger put its time in front.
        body: what stands behind the prefixes, without Ray's note on repetitions.
    """

    writer: str
    source: str
    level: str
    stamped: bool
    body: bytes


class LineSplitter:
    """Cuts a stream of bytes, fed in chunks of any size, into blocks of whole pieces.

    Where a piece begins, and the windows into a long one, don't depend on the chunks.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._number = 1
        self._decoder: codecs.IncrementalDecoder | None = None
        self._head: bytes | None = b""
        self._open_line = False

    @property
    def line_count(self) -> int:
        """Lines seen so far; after `finish`, of the whole log."""
        return self._number - 1 + self._open_line

    def feed(self, data: bytes) -> Iterator[Block]:
        """Blocks that are complete after `data`."""
        if self._head is not None:
            self._head += data
            if len(self._head) < 4:
                return
            data, self._head = self._without_mark(self._head), None
        elif self._decoder is not None:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        yield from self._blocks(data)

    def finish(self) -> Iterator[Block]:
        """The pieces of a last line that has no line feed."""
        if self._head:
            data, self._head = self._without_mark(self._head), None
            yield from self._blocks(data)
        if self._rest:
            self._open_line = True
            yield Block(without_colour(self._rest), self._number)
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

    def _blocks(self, data: bytes) -> Iterator[Block]:
        if b"\x00" in data:
            # UTF-16 without a mark, or holes of a file that was written sparsely.
            data = data.replace(b"\x00", b"")
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end:
            whole = self._rest + data[:end]
            self._rest = data[end:]
            yield Block(without_colour(whole), self._number)
            self._number += whole.count(b"\n")
            self._open_line = not whole.endswith(b"\n")
        else:
            self._rest += data
        if len(self._rest) > WINDOWED_FROM:
            # The end may hold half a colour code; no window reaches so far.
            self._rest = without_colour(self._rest)
            *windows, last = windows_of(0, len(self._rest))
            for start, end in windows:
                yield Block(self._rest[start:end], self._number, window=True)
            self._rest = self._rest[last[0] :]


def windows_of(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Bounds of the windows through which a piece is looked at; a piece of usual length is one window."""
    while end - start > WINDOWED_FROM:
        yield start, start + LONGEST_PIECE
        start += LONGEST_PIECE - WINDOW_OVERLAP
    yield start, end


def pieces_before(data: bytes, end: int, number: int) -> Iterator[Piece]:
    """Pieces of a block from byte `end`, where one ends that belongs to line `number`, backwards."""
    while end >= 0:
        line = data.rfind(b"\n", 0, end) + 1
        begin = data.rfind(b"\r", line, end) + 1 or line
        # Windows closes a line with two bytes; there is no piece between them.
        if begin < end or begin == line:
            yield Piece(number, data[begin : min(end, begin + LONGEST_KEPT)])
        number -= begin == line
        end = begin - 1


def pieces_after(data: bytes, start: int, number: int) -> Iterator[Piece]:
    """Pieces of a block from byte `start`, where one begins that belongs to line `number`."""
    while start < len(data):
        line = data.find(b"\n", start)
        line = len(data) if line < 0 else line
        end = data.find(b"\r", start, line)
        end = line if end < 0 else end
        if start < end or (end == line and (start == 0 or data[start - 1 : start] != b"\r")):
            yield Piece(number, data[start : min(end, start + LONGEST_KEPT)])
        number += end == line
        start = end + 1


def without_colour(data: bytes) -> bytes:
    """The bytes without terminals' colour codes."""
    return _ANSI.sub(b"", data) if b"\x1b" in data else data


def plain(data: bytes) -> bytes:
    """A piece without what is left of colour codes and without control characters."""
    if data.find(b"[") >= 0:
        data = _BARE_COLOUR.sub(b"", data)
    return data.translate(None, _CONTROL)


def text_of(data: bytes) -> str:
    """Readable text of a piece: UTF-8 with replacements, no colour codes, no control characters."""
    return plain(data).decode("utf-8", "replace")


def shown(data: bytes, around: int = 0) -> str:
    """A piece as it is kept: stripped, and if it is very long only the part near byte `around`."""
    if len(data) <= LONGEST_SHOWN:
        return text_of(data).strip()
    start = max(0, min(around - LONGEST_SHOWN // 4, len(data) - LONGEST_SHOWN))
    part = text_of(data[start : start + LONGEST_SHOWN]).strip()
    return ("…" if start else "") + part + ("…" if start + LONGEST_SHOWN < len(data) else "")


def message_of(data: bytes) -> Message:
    """Separate who wrote a plain piece and at which level from what it says."""
    writers: list[str] = []
    level, position, stamped = "", 0, False
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(data, position)
        if match:
            actor, rank, task = match["actor"], match["rank"], match["task"]
            if actor is not None:
                if actor.find(b"pid=") < 0 and not actor.startswith(_ACTORS):
                    break
                writers.append(_named(actor))
            elif rank is not None:
                writers.append(rank.decode())
            elif task is not None:
                writers.append(f"task {task.decode()}")
            else:
                stamped = True
            position = match.end()
            continue
        match = None if level else _LEVEL.match(data, position)
        if not match:
            break
        level, position = match["level"].decode(), match.end()
    end = None
    if data.find(b"[repeated ") >= 0 and (repeated := _REPEATED.search(data, position)):
        end = repeated.start()
    return Message(
        writer=writers[0] if writers else "",
        source=" / ".join(writers),
        level="WARNING" if level == "WARN" else level,
        stamped=stamped,
        body=data[position:end],
    )


def _named(actor: bytes) -> str:
    """A Ray process by its name and number, without its address."""
    name, mark, rest = actor.decode("utf-8", "replace").partition("pid=")
    if not mark:
        return name
    number = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return f"{name.strip()} pid={number}".strip()
