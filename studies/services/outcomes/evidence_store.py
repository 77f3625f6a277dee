"""Uploaded bytes on disk, found by their sha256. A stored file is complete and never changes."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import secrets
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from django.conf import settings

from studies.services.errors import ServiceError

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20
_SLICE = 1 << 16
_INCOMING = "incoming-"
_MOST_MEMBERS = 10_000
"""So many packed files may stand one behind the other in one file."""

INCOMING_SECONDS = 24 * 3600
"""After that long an upload that never ended was killed, and what it left is removed."""


class EvidenceTooLarge(ServiceError):
    """A file is over its limit, as it is or once unpacked."""


class WrongHash(ServiceError):
    """The bytes that came are not the ones that were announced."""


@dataclass(frozen=True)
class Stored:
    """Bytes on disk: their sha256 and their number."""

    sha256: str
    size_bytes: int


def store(chunks: Iterable[bytes], name: str, announced_sha256: str | None = None) -> Stored:
    """Keep a file's bytes under their sha256, packed; ``name`` is only named in errors.

    When it returns, the bytes and the folder that names them are on the disk.
    Raises ``EvidenceTooLarge`` above ``EVIDENCE_MAX_FILE_BYTES``, or if the file is gzip and unpacks to
    more than ``EVIDENCE_MAX_UNPACKED_BYTES``, and ``WrongHash`` for others than the announced bytes. Nothing
    is kept then.
    """
    root = _root()
    root.mkdir(parents=True, exist_ok=True)
    remove_abandoned()
    part = root / f"{_INCOMING}{os.getpid()}-{secrets.token_hex(8)}"
    sha256, size = hashlib.sha256(), 0
    unpacked = _Unpacked(name)
    try:
        with part.open("wb") as file:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as target:
                for chunk in chunks:
                    size += len(chunk)
                    if size > settings.EVIDENCE_MAX_FILE_BYTES:
                        raise EvidenceTooLarge(
                            f"{name}: expected at most {settings.EVIDENCE_MAX_FILE_BYTES} bytes, more came"
                        )
                    # In slices: each end of a packed file copies what follows it in the slice.
                    for start in range(0, len(chunk), _SLICE):
                        unpacked.feed(chunk[start : start + _SLICE])
                    sha256.update(chunk)
                    target.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        found = sha256.hexdigest()
        if announced_sha256 is not None and found != announced_sha256:
            raise WrongHash(f"{name}: the sha256 of what came is {found}, expected {announced_sha256}")
        final = path_of(found)
        new_folder = not final.parent.exists()
        final.parent.mkdir(parents=True, exist_ok=True)
        # A reader sees the whole file or none; two uploads of the same bytes end in the same place.
        os.replace(part, final)
        _force(final.parent)
        if new_folder:
            _force(root)
    finally:
        part.unlink(missing_ok=True)
    return Stored(found, size)


def remove_abandoned(older_than_seconds: float = INCOMING_SECONDS) -> int:
    """Remove what uploads left behind that were killed; returns how many files that were."""
    number = 0
    for path in _root().glob(f"{_INCOMING}*"):
        try:
            if time.time() - path.stat().st_mtime > older_than_seconds:
                path.unlink()
                number += 1
        except FileNotFoundError:
            continue  # another process was quicker
    return number


def stored_before(seconds: float) -> Iterator[str]:
    """The sha256 of every stored file that is older than that."""
    for path in _root().glob("[0-9a-f][0-9a-f]/*.gz"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > seconds:
                yield path.stem


def remove(sha256: str) -> None:
    """Take a file away that no study has recorded."""
    path_of(sha256).unlink(missing_ok=True)


def _force(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def path_of(sha256: str) -> Path:
    """Where the packed bytes with this sha256 lie, or would lie."""
    return _root() / sha256[:2] / f"{sha256}.gz"


def open_stored(sha256: str) -> IO[bytes]:
    """The bytes with this sha256. Raises ``FileNotFoundError`` if they are not here (any more)."""
    return cast("IO[bytes]", gzip.open(path_of(sha256), "rb"))


def _root() -> Path:
    return Path(settings.MEDIA_ROOT) / "evidence"


class _Unpacked:
    """Counts what a gzip file unpacks to, in bounded memory. Damage is for the classifier to report.

    Whether it is gzip is seen from its first bytes, in however small chunks they come.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._head = b""
        self._inflate: zlib._Decompress | None = None
        self._size = 0
        self._members = 1
        self._done = False

    def feed(self, chunk: bytes) -> None:
        if self._inflate is None and not self._done:
            self._head += chunk
            if len(self._head) < len(_GZIP_MAGIC):
                return
            chunk, self._head = self._head, b""
            if chunk.startswith(_GZIP_MAGIC):
                self._inflate = zlib.decompressobj(wbits=31)
            else:
                self._done = True
        while chunk and self._inflate is not None and not self._done:
            try:
                self._size += len(self._inflate.decompress(chunk, _CHUNK))
            except zlib.error:
                self._done = True
                return
            if self._size > settings.EVIDENCE_MAX_UNPACKED_BYTES:
                raise EvidenceTooLarge(
                    f"{self._name}: unpacks to more than {settings.EVIDENCE_MAX_UNPACKED_BYTES} bytes, "
                    "expected at most that many"
                )
            chunk = self._inflate.unconsumed_tail
            if self._inflate.eof:
                # gzip files may be joined one behind the other
                chunk = self._inflate.unused_data
                self._inflate = zlib.decompressobj(wbits=31)
                self._members += bool(chunk)
                if self._members > _MOST_MEMBERS:
                    raise EvidenceTooLarge(
                        f"{self._name}: expected at most {_MOST_MEMBERS} packed files in one"
                    )
