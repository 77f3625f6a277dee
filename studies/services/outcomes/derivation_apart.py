"""Reading a large upload in a process of its own, which has limits on memory and processor time.

The process gets the bytes through a pipe and no environment of the site: neither a secret nor an address.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from django.conf import settings

import studies
from studies.evidence.collect import RunFile
from studies.evidence.completion import CompletionRule
from studies.evidence.confined import LENGTH_BYTES, TOO_MUCH_MEMORY
from studies.evidence.derived import Stated
from studies.evidence.errors import EvidenceError
from studies.evidence.unpacking import unpacked_chunks
from studies.services.errors import ServiceError

_log = logging.getLogger(__name__)
_CHUNK = 1 << 20
_CODE = Path(studies.__file__).parent.parent
_OUT_OF_MEMORY = (TOO_MUCH_MEMORY, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)
_OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)


class DerivationStopped(ServiceError):
    """An upload could not be read within the limits; the text says which one."""


def holds_more_than(files: Iterable[RunFile], size_bytes: int) -> bool:
    """Whether these files hold more than that together, unpacked. Reads no further than needed to know."""
    found = 0
    for file in files:
        with file.open() as stream:
            try:
                for chunk in unpacked_chunks(stream, file.name, []):
                    found += len(chunk)
                    if found > size_bytes:
                        return True
            except EvidenceError:
                return True
    return False


def derive_apart(files: Sequence[RunFile], rule: CompletionRule, stated: Stated) -> dict[str, Any]:
    """What ``studies.evidence.derived.derived_data`` gives, made in a process with limits.

    Raises ``EvidenceError`` as it does, ``DerivationStopped``, and whatever opening a file raises.
    """
    order = {
        "files": [file.name for file in files], "steps": rule.steps, "pattern": rule.pattern,
        "stated": dataclasses.asdict(stated),
    }  # fmt: skip
    limits = [str(settings.DERIVATION_MEMORY_BYTES), str(settings.DERIVATION_CPU_SECONDS)]
    with subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-m", "studies.evidence.confined", *limits], cwd=_CODE,
        # More threads of a numerical library would reserve address space, each for itself.
        env={"PYTHONPATH": str(_CODE), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            answer = _converse(process, order, files)
        except BaseException:
            process.kill()
            raise
    if answer is None:
        raise DerivationStopped(_why(process.returncode))
    if "fault" in answer:
        _log.error("reading an upload failed: %s", answer["fault"])
        raise DerivationStopped("can't be read: an error that nobody expected, which the site's log shows")
    if "refused" in answer:
        raise EvidenceError(*answer["refused"])
    return answer["outcome"]


def _converse(
    process: subprocess.Popen[bytes], order: dict[str, Any], files: Sequence[RunFile]
) -> dict[str, Any] | None:
    """Send the order and each file that is asked for; the answer, or None if the process ended without."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            said = json.loads(line)
            if "open" not in said:
                return said
            with files[said["open"]].open() as source:
                _send(source, process.stdin)
    except BrokenPipeError:
        pass
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    return None


def _send(source: IO[bytes], target: IO[bytes]) -> None:
    while chunk := source.read(_CHUNK):
        target.write(len(chunk).to_bytes(LENGTH_BYTES, "big"))
        target.write(chunk)
    target.write(bytes(LENGTH_BYTES))
    target.flush()


def _why(status: int) -> str:
    if status in _OUT_OF_TIME:
        return (
            f"can't be read within {settings.DERIVATION_CPU_SECONDS} s of processor time, expected evidence "
            "that can; nothing was recorded"
        )
    if status in _OUT_OF_MEMORY:
        return (
            f"can't be read within {settings.DERIVATION_MEMORY_BYTES >> 20} MiB of memory, expected evidence "
            "that can; nothing was recorded"
        )
    return f"can't be read: the process that reads them ended with {status}; nothing was recorded"
