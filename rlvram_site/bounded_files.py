"""Files that somebody names on a command line or in an archive: read whole if they are of a size for it."""

from __future__ import annotations

from pathlib import Path

MIB = 1024 * 1024
LARGEST_MIB = 1024


class FileTooLarge(OSError):
    """A file of more bytes than are read whole; a sparse one may hold next to nothing of them."""


def read_whole(path: Path, largest_mib: int = LARGEST_MIB) -> bytes:
    """The file's bytes, of which at most ``largest_mib`` MiB are taken. Raises ``OSError``."""
    limit = largest_mib * MIB
    with path.open("rb") as file:
        content = file.read(1) if path.stat().st_size > limit else file.read(limit + 1)
    if len(content) > limit or path.stat().st_size > limit:
        raise FileTooLarge(None, f"more than {largest_mib} MiB, expected at most that", str(path))
    return content
