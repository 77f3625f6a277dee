"""Reads files that may be packed, as a stream and within limits: a small file can't fill the memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import IO, NoReturn

from studies.evidence.errors import EvidenceError

CHUNK_BYTES = 1 << 20

MOST_UNPACKED_BYTES = 4 << 30
"""Bytes that one packed file may hold."""

MOST_RATIO = 200
"""Times its packed size that a file may hold, where it holds more than `RATIO_FROM_BYTES`."""

RATIO_FROM_BYTES = 64 << 20

MOST_MEMBERS = 10_000
"""Members of one gzip file: tools that pack in parallel or in blocks write many."""

MOST_TRAILING_BYTES = 1 << 20
"""Bytes behind the last member that are no gzip: padding, or the rest of a torn write."""

LONGEST_LINE = 64 * 1024
"""Bytes of one line of a table."""

_GZIP_MAGIC = b"\x1f\x8b"
_READ_BYTES = 64 * 1024
_GZIP_WINDOW = 31


def unpacked_chunks(stream: IO[bytes], name: str, problems: list[str]) -> Iterator[bytes]:
    """The bytes of a file in chunks, unpacked if it is gzip, whatever its name says.

    A packed file that was cut ends where its readable part ends; that is added to `problems`.

    Raises:
        EvidenceError: more than one of the limits above. It names the file and the limit.
    """
    head = stream.read(_READ_BYTES)
    if not head.startswith(_GZIP_MAGIC):
        while head:
            yield head
            head = stream.read(CHUNK_BYTES)
        return
    yield from _Unpacker(stream, name, problems).chunks(head)


class _Unpacker:
    def __init__(self, stream: IO[bytes], name: str, problems: list[str]) -> None:
        self._stream = stream
        self._name = name
        self._problems = problems
        self._packed = 0
        self._unpacked = 0
        self._members = 0

    def chunks(self, data: bytes) -> Iterator[bytes]:
        self._packed = len(data)
        parts: list[bytes] = []
        size = 0
        for part in self._members_of(data):
            self._unpacked += len(part)
            self._check_size()
            parts.append(part)
            size += len(part)
            # Tiny members would otherwise become as many tiny chunks.
            if size >= _READ_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
        if parts:
            yield b"".join(parts)

    def _members_of(self, data: bytes) -> Iterator[bytes]:
        while data:
            if not data.startswith(_GZIP_MAGIC):
                if len(data) < len(_GZIP_MAGIC) and (more := self._read()):
                    data += more
                    continue
                self._trailing(data)
                return
            self._members += 1
            if self._members > MOST_MEMBERS:
                self._refuse("members", self._members, f"at most {MOST_MEMBERS} in one gzip file")
            member = zlib.decompressobj(_GZIP_WINDOW)
            try:
                while not member.eof:
                    part = member.decompress(data, CHUNK_BYTES)
                    if part:
                        yield part
                    data = member.unconsumed_tail
                    if not data and not member.eof and not (data := self._read()):
                        if rest := member.flush():
                            yield rest
                        self._problems.append(
                            f"{self._name}: the packed file is damaged or cut (it ends early)"
                        )
                        return
            except zlib.error as error:
                self._problems.append(f"{self._name}: the packed file is damaged or cut ({error})")
                return
            data = member.unused_data or self._read()

    def _read(self) -> bytes:
        data = self._stream.read(_READ_BYTES)
        self._packed += len(data)
        return data

    def _trailing(self, data: bytes) -> None:
        """What stands behind the last member is looked at only as far as the limit."""
        size, zeros = 0, True
        while data:
            size += len(data)
            zeros = zeros and not data.strip(b"\x00")
            if size > MOST_TRAILING_BYTES:
                expected = f"at most {MOST_TRAILING_BYTES} bytes behind the last gzip member"
                self._refuse("trailing bytes", size, expected)
            data = self._read()
        if not zeros:
            self._problems.append(
                f"{self._name}: {size} bytes behind the packed content are no gzip, not read"
            )

    def _check_size(self) -> None:
        if self._unpacked > MOST_UNPACKED_BYTES:
            expected = f"at most {MOST_UNPACKED_BYTES} bytes when unpacked"
            self._refuse("unpacked size", self._unpacked, expected)
        if self._unpacked > RATIO_FROM_BYTES and self._unpacked > MOST_RATIO * self._packed:
            expected = f"at most {MOST_RATIO} times the packed size beyond {RATIO_FROM_BYTES} bytes"
            self._refuse("unpacked size", self._unpacked, expected)

    def _refuse(self, field: str, value: int, expected: str) -> NoReturn:
        raise EvidenceError(self._name, field, value, expected)


def line_blocks(chunks: Iterable[bytes], name: str, problems: list[str]) -> Iterator[bytes]:
    """A table in blocks of whole lines, each with its line feed; the last line gets one if it has none.

    A line longer than `LONGEST_LINE` is cut there, which `problems` says once.
    """
    rest, skipping, cut = b"", False, False
    for chunk in chunks:
        if skipping:
            end = chunk.find(b"\n") + 1
            if not end:
                continue
            chunk, skipping = chunk[end:], False
        end = chunk.rfind(b"\n") + 1
        if end:
            block, rest = rest + chunk[:end], chunk[end:]
            if _has_long_line(block):
                cut = True
                block = b"".join(line[:LONGEST_LINE] + b"\n" for line in block[:-1].split(b"\n"))
            yield block
        else:
            rest += chunk
        if len(rest) > LONGEST_LINE:
            yield rest[:LONGEST_LINE] + b"\n"
            rest, skipping, cut = b"", True, True
    if rest:
        yield rest + b"\n"
    if cut:
        problems.append(f"{name}: lines longer than {LONGEST_LINE} bytes were cut")


def text_lines(chunks: Iterable[bytes], name: str, problems: list[str]) -> Iterator[str]:
    """Lines of a table as text, cut where `line_blocks` cuts them."""
    for block in line_blocks(chunks, name, problems):
        for line in block[:-1].split(b"\n"):
            yield line.decode("utf-8", "replace")


def _has_long_line(block: bytes) -> bool:
    position = 0
    while len(block) - position > LONGEST_LINE + 1:
        end = block.rfind(b"\n", position, position + LONGEST_LINE + 1)
        if end < 0:
            return True
        position = end + 1
    return False
