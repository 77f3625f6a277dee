"""Processes below this one, as the kernel shows them in /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Process:
    """A process: its id, its parent's, whether it has ended and only waits to be fetched, and its command."""

    pid: int
    parent: int
    ended: bool
    command: str


def adopt_orphans() -> None:
    """Let processes whose parent ends come to this one, so that none can leave the tree.

    Raises:
        OSError: the kernel refuses.
    """
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl: {os.strerror(number)}")


def end_with_parent() -> None:
    """In a new process, before its program starts: end when the process that started it is gone."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def descendants(root: int) -> list[Process]:
    """Every process below ``root``, those included that have ended and wait to be fetched."""
    children: dict[int, list[Process]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            _, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
            state, parent = rest.split()[:2]
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            process = Process(int(folder.name), int(parent), state in "ZX", words[:200])
            children.setdefault(process.parent, []).append(process)
    found, waiting = [], [root]
    while waiting:
        for process in children.get(waiting.pop(), []):
            waiting.append(process.pid)
            found.append(process)
    return found


def end_all(root: int, spare: set[int], grace_seconds: float, main: subprocess.Popen[bytes]) -> list[Process]:
    """End every process below ``root`` but those in ``spare``: ask first, then kill. Returns who still ran.

    Ended orphans are fetched, so that nothing of them is left; ``main`` keeps its own exit status.
    """
    seen: dict[int, Process] = {}
    kill_at = time.monotonic() + grace_seconds
    asked: set[int] = set()
    while True:
        there = [process for process in descendants(root) if process.pid not in spare]
        alive = [process for process in there if not process.ended]
        main.poll()
        for process in there:
            if process.ended and process.parent == root and process.pid != main.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
        for process in alive:
            seen.setdefault(process.pid, process)
            late = time.monotonic() >= kill_at
            if late or process.pid not in asked:
                asked.add(process.pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL if late else signal.SIGTERM)
        if not there:
            return list(seen.values())
        time.sleep(0.02)
