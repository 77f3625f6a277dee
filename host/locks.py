"""One process at a time on a run directory."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO


def lock(folder: Path) -> IO[str]:
    """Hold the folder until the file is closed, or this process ends.

    Raises:
        BlockingIOError: another process holds it.
    """
    file = (folder / ".lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise
    return file
