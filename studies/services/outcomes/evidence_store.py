"""Uploaded bytes, found by their sha256. A stored file is complete and never changes.

The only module that touches the store, whichever ``EVIDENCE_STORAGE_URL`` names. What is known of a stored
file without reading it is in ``evidence_checks``.
"""

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
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import storages

from rlvram_site.disk import DiskFull, is_full
from studies.services.errors import ServiceError

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20
_SLICE = 1 << 16
_INCOMING = "incoming-"
_MOST_MEMBERS = 10_000
"""So many packed files may stand one behind the other in one file."""


class EvidenceTooLarge(ServiceError):
    """A file is over its limit, as it is or once unpacked."""


class WrongHash(ServiceError):
    """The bytes that came are not the ones that were announced."""


@dataclass(frozen=True)
class Stored:
    """Bytes in the store: their sha256, their number, and what the stored file looks like from outside."""

    sha256: str
    size_bytes: int
    stamp: str


@dataclass(frozen=True)
class Arrived:
    """Bytes that came wholly and are not in the store yet: packed, in a file of their own."""

    sha256: str
    size_bytes: int
    path: Path

    def keep(self) -> Stored:
        """Put them into the store; when it returns, they are there for good.

        Raises ``DiskFull`` or ``StoreUnreachable``; then nothing is kept.
        """
        with _room(), self.path.open("rb") as packed:
            _store().save(name_of(self.sha256), File(packed, str(self.path)))
        return Stored(self.sha256, self.size_bytes, stamp(self.sha256) or "")


def store(chunks: Iterable[bytes], name: str, announced_sha256: str | None = None) -> Stored:
    """Keep a file's bytes under their sha256; ``receive`` and ``keep`` in one."""
    with receive(chunks, name, announced_sha256) as arrived:
        return arrived.keep()


@contextlib.contextmanager
def receive(chunks: Iterable[bytes], name: str, announced_sha256: str | None = None) -> Iterator[Arrived]:
    """Take a file's bytes and pack them; what is not kept is gone at the end. ``name`` is named in errors.

    Raises ``EvidenceTooLarge`` above ``EVIDENCE_MAX_FILE_BYTES``, or if the file is gzip and unpacks to
    more than ``EVIDENCE_MAX_UNPACKED_BYTES``, ``WrongHash`` for others than the announced bytes, and
    ``DiskFull``.
    """
    part = _store().incoming() / f"{_INCOMING}{os.getpid()}-{secrets.token_hex(8)}"
    sha256, size = hashlib.sha256(), 0
    unpacked = _Unpacked(name)
    try:
        with (
            _room(),
            part.open("wb") as file,
            gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, mtime=0) as target,
        ):
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
        found = sha256.hexdigest()
        if announced_sha256 is not None and found != announced_sha256:
            raise WrongHash(f"{name}: the sha256 of what came is {found}, expected {announced_sha256}")
        yield Arrived(found, size, part)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFull("there is no room for these bytes") from error
        raise


def abandoned(older_than_seconds: float) -> Iterator[Path]:
    """Files that uploads left behind which were killed, ours and those of forms."""
    for folder in {_store().incoming(), Path(settings.FILE_UPLOAD_TEMP_DIR)}:
        for path in [*folder.glob(f"{_INCOMING}*"), *folder.glob("tmp*.upload*")]:
            with contextlib.suppress(FileNotFoundError):  # another process was quicker
                if time.time() - path.stat().st_mtime > older_than_seconds:
                    yield path


def stored() -> Iterator[tuple[str, float]]:
    """The sha256 of every stored file, and when it was written: seconds since 1970."""
    for name, written in _store().stored():
        yield name[3:67], written


def remove(sha256: str) -> None:
    """Take a file away that no study has recorded."""
    _store().delete(name_of(sha256))


def name_of(sha256: str) -> str:
    """The name in the store of the packed bytes with this sha256."""
    return f"{sha256[:2]}/{sha256}.gz"


def stamp(sha256: str) -> str | None:
    """What the stored file looks like from outside: another text once it was written anew; None without one.

    Raises ``StoreUnreachable``.
    """
    return _store().stamp(name_of(sha256))


def is_remote() -> bool:
    """Whether each look at a stored file is a request over the network."""
    return _store().remote


def open_stored(sha256: str) -> IO[bytes]:
    """The bytes with this sha256, unchecked. Raises ``FileNotFoundError``, ``StoreUnreachable``."""
    return cast("IO[bytes]", gzip.GzipFile(fileobj=_store().open_bytes(name_of(sha256)), mode="rb"))


def _store() -> Any:
    return storages["evidence"]


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
