"""Uploaded bytes on disk, found by their sha256. A stored file is complete and never changes."""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from django.conf import settings

from studies.services.errors import ServiceError

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20


class EvidenceTooLarge(ServiceError):
    """A file is over its limit, as it is or once unpacked."""


@dataclass(frozen=True)
class Stored:
    """Bytes on disk: their sha256 and their number."""

    sha256: str
    size_bytes: int


def store(chunks: Iterable[bytes], name: str) -> Stored:
    """Keep a file's bytes under their sha256, packed; ``name`` is only named in errors.

    Raises ``EvidenceTooLarge`` above ``EVIDENCE_MAX_FILE_BYTES``, or if the file is gzip and unpacks to
    more than ``EVIDENCE_MAX_UNPACKED_BYTES``. Nothing is kept then.
    """
    root = _root()
    root.mkdir(parents=True, exist_ok=True)
    part = root / f"incoming-{os.getpid()}-{secrets.token_hex(8)}"
    sha256, size = hashlib.sha256(), 0
    unpacked: _Unpacked | None = None
    try:
        with gzip.open(part, "wb", compresslevel=1) as target:
            for chunk in chunks:
                if size == 0 and chunk.startswith(_GZIP_MAGIC):
                    unpacked = _Unpacked(name)
                size += len(chunk)
                if size > settings.EVIDENCE_MAX_FILE_BYTES:
                    raise EvidenceTooLarge(
                        f"{name}: expected at most {settings.EVIDENCE_MAX_FILE_BYTES} bytes, more came"
                    )
                if unpacked is not None:
                    unpacked.feed(chunk)
                sha256.update(chunk)
                target.write(chunk)
        final = path_of(sha256.hexdigest())
        final.parent.mkdir(parents=True, exist_ok=True)
        # A reader sees the whole file or none; two uploads of the same bytes end in the same place.
        os.replace(part, final)
    finally:
        part.unlink(missing_ok=True)
    return Stored(sha256.hexdigest(), size)


def path_of(sha256: str) -> Path:
    """Where the packed bytes with this sha256 lie, or would lie."""
    return _root() / sha256[:2] / f"{sha256}.gz"


def open_stored(sha256: str) -> IO[bytes]:
    """The bytes with this sha256. Raises ``FileNotFoundError`` if they are not here (any more)."""
    return cast("IO[bytes]", gzip.open(path_of(sha256), "rb"))


def _root() -> Path:
    return Path(settings.MEDIA_ROOT) / "evidence"


class _Unpacked:
    """Counts what a gzip file unpacks to, in bounded memory. Damage is for the classifier to report."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inflate = zlib.decompressobj(wbits=31)
        self._size = 0
        self._damaged = False

    def feed(self, chunk: bytes) -> None:
        while chunk and not self._damaged:
            try:
                self._size += len(self._inflate.decompress(chunk, _CHUNK))
            except zlib.error:
                self._damaged = True
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
