"""Stands between the host and one run's program: whatever the program starts ends with it, and with the host.

Runs as a script of its own and needs nothing of this project. It becomes the parent of every orphan below it,
so that no process can leave; it ends them all when the program has ended, when it is asked to (SIGTERM), and
when the host is gone, however that ended. On the pipe it tells one JSON object a line: ``started`` or
``problem``, and at the end ``exit`` with ``left``, the processes that were still there.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import psutil

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
HOST_GONE = signal.SIGUSR2
LOOK_SECONDS = 0.02
_libc = ctypes.CDLL(None, use_errno=True)


class Keeper:
    """One program and everything below it."""

    def __init__(self, pipe: int, grace_seconds: float) -> None:
        self._pipe = pipe
        self._grace = grace_seconds
        self._end_asked = False
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(HOST_GONE, self._host_gone)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def _ask(self, number: int, frame: object) -> None:
        self._end_asked = True

    def _host_gone(self, number: int, frame: object) -> None:
        self._end_asked, self._grace = True, 0.0

    def keep(self, command: list[str], user: str, parent: int) -> int:
        """Run the command and end all of it; returns the exit code for the shell."""
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _libc.prctl(PR_SET_PDEATHSIG, int(HOST_GONE), 0, 0, 0)
        if os.getppid() != parent:
            return 1
        as_user: dict[str, Any] = {"user": user, "group": _group(user), "extra_groups": []} if user else {}
        try:
            main = subprocess.Popen(  # noqa: S603 - the host's own command, for which it is there
                command, stdin=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=lambda: _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0),
                **as_user,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._tell({"problem": f"{command[0]}: {reason}"})
            return 1
        self._tell({"started": main.pid})
        while main.poll() is None and not self._end_asked:
            self._fetch_orphans(main.pid)
            time.sleep(LOOK_SECONDS)
        left = self._end_all(main)
        self._tell({"exit": main.returncode, "left": left})
        return 0

    def _end_all(self, main: subprocess.Popen[bytes]) -> list[str]:
        """End everything below: ask, then kill. Returns who was there, as ``PID command``."""
        kill_at = time.monotonic() + self._grace
        seen: dict[int, str] = {}
        asked: set[int] = set()
        while True:
            main.poll()
            self._fetch_orphans(main.pid)
            there = [item for item in psutil.Process().children(recursive=True) if _runs(item)]
            if not there:
                if main.returncode is None:
                    main.wait()
                return list(seen.values())
            # Looked up each time: the host may have gone meanwhile, and then there is no grace.
            late = time.monotonic() >= kill_at or self._grace == 0
            for process in there:
                with contextlib.suppress(psutil.Error):
                    seen.setdefault(process.pid, f"{process.pid} {' '.join(process.cmdline())[:200]}")
                    if late or process.pid not in asked:
                        asked.add(process.pid)
                        process.send_signal(signal.SIGKILL if late else signal.SIGTERM)
            time.sleep(LOOK_SECONDS)

    def _fetch_orphans(self, main: int) -> None:
        """Take the exit status of adopted processes, but leave the program's own to ``subprocess``."""
        for process in psutil.Process().children():
            if process.pid != main:
                with contextlib.suppress(psutil.Error, ChildProcessError):
                    if process.status() == psutil.STATUS_ZOMBIE:
                        os.waitpid(process.pid, os.WNOHANG)

    def _tell(self, content: dict[str, object]) -> None:
        with contextlib.suppress(OSError):  # nobody reads any more
            os.write(self._pipe, json.dumps(content).encode() + b"\n")


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _group(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--pipe", type=int, required=True)
    parser.add_argument("--grace-seconds", type=float, required=True)
    parser.add_argument("--user", default="")
    parser.add_argument("--cgroup", default="", help="the folder of a cgroup that all of it runs in")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    os.set_inheritable(options.pipe, False)
    if options.cgroup:
        # Where the kernel refuses, adoption and marks still find all of it.
        with contextlib.suppress(OSError), open(f"{options.cgroup}/cgroup.procs", "w") as members:
            members.write("0")
    return Keeper(options.pipe, options.grace_seconds).keep(options.command, options.user, options.parent)


if __name__ == "__main__":
    sys.exit(main())
