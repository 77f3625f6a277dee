"""A cgroup of its own for each run, where this process may make one: then its whole tree ends as one.

Needs no systemd, only cgroup v2 with a folder that this user may write: as root in a container, in a
delegated unit, or under a batch system that delegates. Nothing here raises for want of one.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

PREFIX = "rlvram-"
_KILL_SECONDS = 30.0


def own_folder(mounts: str = "/proc/self/mountinfo", groups: str = "/proc/self/cgroup") -> Path | None:
    """The folder of this process's own cgroup; None without cgroup v2."""
    try:
        mounted = next(
            Path(line.split()[4]) for line in Path(mounts).read_text().splitlines() if " - cgroup2 " in line
        )
        group = next(line[3:] for line in Path(groups).read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    return mounted / group.lstrip("/")


def make(token: str, parent: Path | None) -> Path | None:
    """A new cgroup for the run of this token below ``parent``; None where that can't be done."""
    if parent is None:
        return None
    folder = parent / f"{PREFIX}{token}"
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    if (folder / "cgroup.kill").exists() and (folder / "cgroup.procs").exists():
        return folder
    _remove(folder)
    return None


def end(token: str, parent: Path | None) -> None:
    """Kill all that is in the run's cgroup or below it, and remove it."""
    folder = parent / f"{PREFIX}{token}" if parent is not None else None
    if folder is None or not folder.is_dir():
        return
    with contextlib.suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
        give_up = time.monotonic() + _KILL_SECONDS
        while "populated 1" in (folder / "cgroup.events").read_text() and time.monotonic() < give_up:
            time.sleep(0.02)
    _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a cgroup with those that the program made below it."""
    for path in sorted((item for item in folder.rglob("*") if item.is_dir()), reverse=True):
        with contextlib.suppress(OSError):
            path.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()
