"""Space on the disk: how much is kept in reserve, and what it looks like when there is none."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from django.conf import settings
from django.core.files.storage import storages

_MIB = 1024 * 1024
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_PG_DISK_FULL = "53100"


class DiskFull(Exception):
    """There is no room for what should be written; nothing of it was kept."""


def free_bytes(folder: Path) -> int:
    """Bytes that we may still write where ``folder`` is, or will be."""
    while not folder.exists():
        folder = folder.parent
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def shortage() -> str:
    """What is short, in words for an operator; empty while every folder has its reserve."""
    for folder in _folders():
        free = free_bytes(folder)
        if free < settings.DISK_RESERVE_BYTES:
            reserve = settings.DISK_RESERVE_BYTES // _MIB
            return f"{folder} has {free // _MIB} MiB free, the reserve is {reserve} MiB"
    return ""


def _folders() -> list[Path]:
    store = storages["evidence"]
    return [Path(settings.DATA_DIR), *([] if store.remote else [Path(store.location)])]  # type: ignore[attr-defined]


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, says that a disk or quota is full: ours or the database's."""
    while error is not None:
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _FULL):
            return True
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            return True
        if getattr(error, "sqlstate", None) == _PG_DISK_FULL:
            return True
        error = error.__cause__
    return False
