"""Evidence in a backup: one packed file per sha256, shared by all backups of a folder."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from operating.backup.folder import BackupError, sync_folder
from studies.services.outcomes import evidence_store

_CHUNK = 1 << 20
_UNREADABLE = (OSError, EOFError, zlib.error)  # gzip.BadGzipFile is an OSError


def path_in(root: Path, sha256: str) -> Path:
    """Where a file of that sha256 lies in the folder of backups."""
    return root / "evidence" / sha256[:2] / f"{sha256}.gz"


def copy_out(root: Path, sha256: str) -> str:
    """Copy one file into the folder unless it is there: ``copied``, ``there``, ``missing`` or ``damaged``."""
    target = path_in(root, sha256)
    if target.exists():
        return "there"
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    try:
        # Only opening tells that the file isn't here; what comes later is a full disk or a damaged file.
        with evidence_store.open_stored(sha256) as source:
            try:
                found = _pack(_chunks(source), part)
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return "damaged"
        if found != sha256:
            return "damaged"
        part.replace(target)
        sync_folder(target.parent)
    except FileNotFoundError:
        return "missing"
    finally:
        part.unlink(missing_ok=True)
    return "copied"


def check(root: Path, sha256: str) -> None:
    """Raises ``BackupError`` if the copy is not there or has other bytes."""
    path = path_in(root, sha256)
    try:
        with gzip.open(path, "rb") as file:
            found = _hash(_chunks(file))
    except _UNREADABLE as error:
        raise BackupError(f"{path}: cannot be read: {error}") from error
    if found != sha256:
        raise BackupError(f"{path}: its bytes have the sha256 {found}, expected that of its name")


def copy_in(root: Path, sha256: str) -> str:
    """Give one file back to the site unless it has it whole: ``copied`` or ``there``."""
    with suppress(*_UNREADABLE), evidence_store.open_stored(sha256) as here:
        if _hash(_chunks(here)) == sha256:
            return "there"
    path = path_in(root, sha256)
    try:
        with gzip.open(path, "rb") as file:
            evidence_store.store(_chunks(file), path.name, sha256)
    except evidence_store.EvidenceTooLarge as error:
        raise BackupError(
            f"{error}. Raise EVIDENCE_MAX_FILE_MIB and EVIDENCE_MAX_UNPACKED_MIB for the restore"
        ) from error
    except (evidence_store.WrongHash, *_UNREADABLE) as error:
        raise BackupError(f"{path}: {error}") from error
    return "copied"


def _chunks(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _hash(chunks: Iterable[bytes]) -> str:
    sha256 = hashlib.sha256()
    for chunk in chunks:
        sha256.update(chunk)
    return sha256.hexdigest()


def _pack(chunks: Iterable[bytes], target: Path) -> str:
    """Write the chunks packed, durably; returns the sha256 of what was packed."""
    sha256 = hashlib.sha256()
    with target.open("wb") as file:
        with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as packed:
            for chunk in chunks:
                sha256.update(chunk)
                packed.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return sha256.hexdigest()
