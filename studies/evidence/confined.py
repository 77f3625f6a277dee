"""The process in which large uploads are read: ``python -m studies.evidence.confined MEMORY CPU``.

It limits itself before it reads anything, and opens nothing: it knows neither the database nor the store,
and asks for a file's bytes by the file's number. Standard input brings the order, a line of JSON, and then
frames: four bytes of length, so many bytes of the file asked for, and an empty frame at its end. Standard
output takes lines of JSON: ``{"open": NUMBER}``, and at the end ``{"outcome": …}``, ``{"refused": …}``, or
``{"fault": TRACEBACK}`` for what nobody expected.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import traceback
from typing import IO, Any, cast

from studies.evidence.collect import RunFile
from studies.evidence.completion import CompletionRule
from studies.evidence.derived import Stated, derived_data
from studies.evidence.errors import EvidenceError

TOO_MUCH_MEMORY = 77
"""Exit status where the memory did not suffice."""

LENGTH_BYTES = 4
_LONGEST_FAULT = 8000


def limit(memory_bytes: int, cpu_seconds: int) -> None:
    """Let this process have so much address space and processor time, and write no file."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Frames(io.RawIOBase):
    """One file's bytes as they come through the pipe. What nobody wants is passed over at the end."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._rest: int | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            if self._rest == 0:
                return 0
            self._next()
            if not self._rest:
                return 0
        chunk = self._source.read(min(self._rest or 0, len(buffer)))
        buffer[: len(chunk)] = chunk
        self._rest = (self._rest or 0) - len(chunk)
        if not self._rest:
            # The end is a frame without bytes; between frames nothing is known.
            self._rest = None
        return len(chunk)

    def _next(self) -> None:
        self._rest = int.from_bytes(self._source.read(LENGTH_BYTES), "big")

    def close(self) -> None:
        scratch = memoryview(bytearray(1 << 16))
        while not self.closed and self.readinto(scratch):
            pass
        super().close()


def answer(order: dict[str, Any], source: IO[bytes], asked: IO[str]) -> dict[str, Any]:
    """What the files of an order establish, or why they can't be read."""

    def file(number: int, name: str) -> RunFile:
        def opened() -> IO[bytes]:
            print(json.dumps({"open": number}), file=asked, flush=True)
            return cast("IO[bytes]", io.BufferedReader(_Frames(source), 1 << 20))

        return RunFile(name, opened)

    stated = Stated(**order["stated"])
    files = [file(number, name) for number, name in enumerate(order["files"])]
    try:
        return {"outcome": derived_data(files, CompletionRule(order["steps"], order["pattern"]), stated)}
    except EvidenceError as error:
        value = error.value if isinstance(error.value, str | int | list) else repr(error.value)
        return {"refused": [error.source, error.field, value, error.expected]}


def main() -> int:
    limit(int(sys.argv[1]), int(sys.argv[2]))
    source = sys.stdin.buffer
    try:
        print(json.dumps(answer(json.loads(source.readline()), source, sys.stdout)), flush=True)
    except MemoryError:
        return TOO_MUCH_MEMORY
    except Exception:
        print(json.dumps({"fault": traceback.format_exc()[-_LONGEST_FAULT:]}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
