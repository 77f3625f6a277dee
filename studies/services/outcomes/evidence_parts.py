"""Stored files as they were before they were sent: packed parts are put together again, in their order."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, cast

from host.kinds import whole_of
from studies.evidence.errors import EvidenceError
from studies.services.outcomes.evidence_checks import open_whole

MOST_PARTS = 64


@dataclass(frozen=True)
class WholeFile:
    """A file by its own name, and the sha256 of its parts in their order; most have one."""

    name: str
    parts: tuple[str, ...]

    def open(self) -> IO[bytes]:
        """Its bytes from the start; of several parts, gzip files one behind the other.

        Raises ``EvidenceUnavailable`` if they are not here any more or are damaged, ``StoreUnreachable``.
        """
        if len(self.parts) == 1:
            return open_whole(self.parts[0])
        return cast("IO[bytes]", io.BufferedReader(_Chain(self.parts)))


def whole_files(files: Iterable[tuple[str, str]]) -> list[WholeFile]:
    """The files of names and sha256, parts joined; in the order in which their first part comes.

    Raises ``EvidenceError`` where a part is missing: what is left would read as the whole.
    """
    found: dict[str, dict[int, str]] = {}
    totals: dict[str, int] = {}
    for name, sha256 in files:
        whole, number, total = whole_of(name) or (name, 1, 1)
        if whole in found and (totals[whole] != total or number in found[whole]):
            raise EvidenceError("upload", "files", name, f"the parts of one {whole}")
        found.setdefault(whole, {})[number] = sha256
        totals[whole] = total
    for whole, parts in found.items():
        total = totals[whole]
        if total > MOST_PARTS:
            raise EvidenceError("upload", "files", whole, f"at most {MOST_PARTS} parts")
        missing = [number for number in range(1, total + 1) if number not in parts]
        if missing or len(parts) != total:
            raise EvidenceError("upload", "files", sorted(parts), f"all {total} parts of {whole}")
    return [
        WholeFile(whole, tuple(sha256 for _, sha256 in sorted(parts.items())))
        for whole, parts in found.items()
    ]


class _Chain(io.RawIOBase):
    """Stored files read one behind the other."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._waiting = list(reversed(parts))
        self._now: IO[bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        while True:
            if self._now is None:
                if not self._waiting:
                    return 0
                self._now = open_whole(self._waiting.pop())
            chunk = self._now.read(len(buffer))
            if chunk:
                buffer[: len(chunk)] = chunk
                return len(chunk)
            self._now.close()
            self._now = None

    def close(self) -> None:
        if self._now is not None:
            self._now.close()
        super().close()
