"""Where evidence lies when it lies on a disk: files that are whole and forced to it, or not there.

``EVIDENCE_STORAGE_URL`` chooses between this and ``evidence_objects``. Both know, beyond what Django asks of
a storage, where arriving bytes are gathered, what a stored file looks like from outside, and what is there.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage
from django.utils.functional import cached_property

NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}\.gz\Z")
"""What we store. Anything else that lies there is not ours."""


class StoreUnreachable(OSError):
    """The store does not answer, or refuses what every store must allow. Nothing is known of its content."""


class DurableFiles(FileSystemStorage):
    """Files below a folder. What is saved survives a power cut; a reader sees all of it or nothing."""

    remote = False

    @cached_property
    def base_location(self) -> Any:
        return self._location or Path(settings.MEDIA_ROOT) / "evidence"  # type: ignore[attr-defined]

    def incoming(self) -> Path:
        """The folder in which arriving bytes are gathered: here, so that naming them copies nothing."""
        root = Path(self.location)
        root.mkdir(parents=True, exist_ok=True)
        return root

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The same name: it is made of the content, so what lies there is the same, or damaged."""
        return name

    def _save(self, name: str, content: Any) -> str:
        final = Path(self.path(name))
        new_folder = not final.parent.exists()
        final.parent.mkdir(parents=True, exist_ok=True)
        _force(Path(content.name))
        # Two uploads of the same bytes end in the same place.
        os.replace(content.name, final)
        _force(final.parent)
        if new_folder:
            _force(final.parent.parent)
        return name

    def stamp(self, name: str) -> str | None:
        """Another text whenever the file was written anew or changed in the usual ways; None without one."""
        try:
            found = os.stat(self.path(name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"

    def stored(self) -> Iterator[tuple[str, float]]:
        """Name of everything that is stored, and when it was written: seconds since 1970."""
        root = Path(self.location)
        for path in root.glob("[0-9a-f][0-9a-f]/*.gz"):
            name = str(path.relative_to(root))
            with contextlib.suppress(FileNotFoundError):
                if NAME.match(name):
                    yield name, path.stat().st_mtime

    def open_bytes(self, name: str) -> File:
        """The stored file. Raises ``FileNotFoundError``."""
        return self.open(name, "rb")


def _force(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
