"""Starting a program under its keeper, and ending what is left of a run, also of one before a restart."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from host import cgroups
from host.errors import NotStarted

MARK = "RLVRAM_RUN"
"""Stands in the environment of a run's program, and so of all that it starts: the token of the run."""

GRACE_SECONDS = 10.0
"""Between asking the process tree to end and killing it."""

_PR_SET_CHILD_SUBREAPER = 36
_KEEPER = Path(__file__).with_name("keeper.py")
_libc = ctypes.CDLL(None, use_errno=True)
_keepers: set[int] = set()


def adopt_orphans() -> None:
    """Let processes whose parent ends come to this one, should their keeper be killed.

    Raises ``OSError``: the kernel refuses.
    """
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl: {os.strerror(number)}")


@dataclass
class Program:
    """A program that runs below its keeper.

    ``exit_code`` is known once ``wait`` has returned, ``left`` names what was still there then.
    """

    token: str
    keeper: subprocess.Popen[bytes]
    pipe: IO[bytes]
    exit_code: int = 0
    left: list[str] = field(default_factory=list)

    def running(self) -> bool:
        return self.keeper.poll() is None

    def has(self, pid: int) -> bool:
        """Whether a process belongs to it."""
        try:
            process = psutil.Process(pid)
            return (
                any(parent.pid == self.keeper.pid for parent in process.parents())
                or _mark_of(process) == self.token
            )
        except psutil.Error:
            return False

    def ask_to_end(self) -> None:
        """Let the keeper end it and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            self.keeper.terminate()

    def wait(self) -> None:
        """Wait until nothing of it is there any more, also if the keeper itself was killed."""
        self.keeper.wait()
        _keepers.discard(self.keeper.pid)
        end_scope(self.token)
        said: dict[str, Any] = {}
        for line in self.pipe:
            with contextlib.suppress(ValueError):
                said |= json.loads(line)
        self.pipe.close()
        self.left = [*said.get("left", []), *end_marked({self.token})]
        # Without its word the keeper was killed, and the program with it.
        self.exit_code = said.get("exit", -9)


def start(
    command: Sequence[str],
    token: str,
    *,
    folder: Path,
    log: IO[bytes],
    environment: Mapping[str, str],
    user: str = "",
) -> Program:
    """Start the command under a keeper, in a session of its own, with its output in ``log``.

    Raises ``NotStarted``: there is no such program, or it may not be started.
    """
    reading, writing = os.pipe()
    scope = _scope_words(token)
    group = None if scope else cgroups.make(token, cgroups.own_folder())
    words = [
        *scope, sys.executable, "-I", str(_KEEPER), "--parent", str(os.getpid()),
        "--pipe", str(writing), "--grace-seconds", str(GRACE_SECONDS),
        *(["--user", user] if user else []), *(["--cgroup", str(group)] if group else []), "--", *command,
    ]  # fmt: skip
    try:
        keeper = subprocess.Popen(  # noqa: S603 - this project's own keeper
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder,
            env={**environment, MARK: token}, start_new_session=True, pass_fds=[writing],
        )  # fmt: skip
    except OSError as error:
        os.close(reading)
        raise NotStarted(f"the keeper could not be started: {error}") from None
    finally:
        os.close(writing)
    _keepers.add(keeper.pid)
    pipe = os.fdopen(reading, "rb")
    first = pipe.readline()
    try:
        said = json.loads(first)
    except ValueError:
        said = {"problem": "the keeper ended at once"}
    if "started" not in said:
        keeper.wait()
        _keepers.discard(keeper.pid)
        pipe.close()
        end_scope(token)
        raise NotStarted(str(said.get("problem", "")))
    return Program(token, keeper, pipe)


def end_marked(tokens: Collection[str]) -> list[str]:
    """Kill every process that carries one of these runs' marks. Returns them as ``PID command``."""
    seen: dict[int, str] = {}
    while True:
        there = []
        for process in psutil.process_iter():
            if process.pid == os.getpid() or _mark_of(process) not in tokens:
                continue
            with contextlib.suppress(psutil.Error):
                seen.setdefault(process.pid, f"{process.pid} {' '.join(process.cmdline())[:200]}")
                process.kill()
                there.append(process)
        _fetch_adopted()
        if not there:
            return list(seen.values())
        time.sleep(0.02)


def _fetch_adopted() -> None:
    """Take the exit status of processes that came to this one; keepers are waited for by their starters."""
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error, ChildProcessError):
            if process.status() == psutil.STATUS_ZOMBIE and process.pid not in _keepers:
                os.waitpid(process.pid, os.WNOHANG)


def _mark_of(process: psutil.Process) -> str:
    """The token in a process's environment; empty where there is none, it ended, or is another user's."""
    with contextlib.suppress(psutil.Error, OSError):
        if process.status() != psutil.STATUS_ZOMBIE:
            return process.environ().get(MARK, "")
    return ""


def _scope_words(token: str) -> list[str]:
    """With systemd, a scope of its own around the run: its cgroup ends as one."""
    return (
        ["systemd-run", "--scope", "--quiet", "--collect", f"--unit=rlvram-{token}", "--"]
        if _systemd()
        else []
    )


def end_scope(token: str) -> None:
    """Kill what is left in the run's scope or cgroup, where it has one."""
    cgroups.end(token, cgroups.own_folder())
    if _systemd():
        subprocess.run(  # noqa: S603
            ["systemctl", "kill", "--signal=KILL", f"rlvram-{token}.scope"],  # noqa: S607
            capture_output=True, check=False, timeout=30,
        )  # fmt: skip


def _systemd() -> bool:
    """Whether systemd runs this machine and lets this user make scopes: only root without a password."""
    if os.geteuid() != 0 or not shutil.which("systemd-run") or not shutil.which("systemctl"):
        return False
    try:
        done = subprocess.run(
            ["systemctl", "is-system-running"],  # noqa: S607
            capture_output=True, text=True, check=False, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() in ("running", "degraded")
