"""Whether stored evidence is still what was sent. Each read asks; the answer is remembered with what the file
looked like from outside, so that a hash is made anew only when that differs, or when a check comes round."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import IO

from django.conf import settings
from django.db import models
from django.utils import timezone

from rlvram_site.evidence_storage import StoreUnreachable
from studies.models import EvidenceBlob, EvidenceFile, StoredFile
from studies.services.errors import ServiceError
from studies.services.outcomes import evidence_store

_CHUNK = 1 << 20
_log = logging.getLogger(__name__)
AT_ONCE_BYTES = 4 << 20
"""A page makes the hash of a file anew up to this size; a larger one waits for a read or for the check."""


class Bytes(StrEnum):
    """What there is of a file that an attempt names."""

    HERE = "here"
    UNCHECKED = "not checked yet"
    ONLY_HASH = "only its hash"
    MISSING = "missing"
    DAMAGED = "damaged"
    UNREACHABLE = "unreachable"

    @property
    def readable(self) -> bool:
        """Whether a read may be tried."""
        return self in (Bytes.HERE, Bytes.UNCHECKED)


class EvidenceUnavailable(ServiceError, OSError):
    """Stored bytes that can't be read now. ``state`` says which way."""

    state = Bytes.UNREACHABLE


class EvidenceMissing(EvidenceUnavailable):
    """Bytes that a record names are not in the store."""

    state = Bytes.MISSING


class EvidenceDamaged(EvidenceUnavailable):
    """What lies in the store under a hash has another one."""

    state = Bytes.DAMAGED


def remember(sha256: str, state: StoredFile.State, stamp: str) -> None:
    """Keep how a stored file was found just now."""
    StoredFile.objects.update_or_create(
        sha256=sha256, defaults={"state": state, "stamp": stamp, "checked_at": timezone.now()}
    )


def open_whole(sha256: str) -> IO[bytes]:
    """The bytes with this sha256, and no others.

    Raises ``EvidenceMissing``, ``EvidenceDamaged`` or ``StoreUnreachable``.
    """
    try:
        stamp = evidence_store.stamp(sha256)
        if stamp is None:
            raise FileNotFoundError
        known = StoredFile.objects.filter(sha256=sha256, stamp=stamp).first()
        state = known.state if known and known.state != StoredFile.State.ARRIVING else check(sha256)
        if state == StoredFile.State.WHOLE:
            return evidence_store.open_stored(sha256)
    except FileNotFoundError:
        state = StoredFile.State.MISSING
    if state == StoredFile.State.MISSING:
        raise EvidenceMissing(f"evidence missing: the bytes with the sha256 {sha256} are not in the store")
    raise EvidenceDamaged(f"evidence damaged: what is stored as {sha256} has another sha256")


def check(sha256: str) -> str:
    """Make the hash of a stored file anew, remember what was found, and return it: a ``StoredFile.State``.

    Raises ``StoreUnreachable``; then nothing is known.
    """
    stamp = evidence_store.stamp(sha256)
    state = StoredFile.State.MISSING if stamp is None else _hashed(sha256)
    # What was written anew meanwhile is judged when it is read next.
    if stamp is not None and evidence_store.stamp(sha256) != stamp:
        stamp = ""
    remember(sha256, state, stamp or "")
    return state


def _hashed(sha256: str) -> StoredFile.State:
    found = hashlib.sha256()
    try:
        with evidence_store.open_stored(sha256) as source:
            while chunk := source.read(_CHUNK):
                found.update(chunk)
    except StoreUnreachable:
        raise
    except FileNotFoundError:
        return StoredFile.State.MISSING
    except (OSError, EOFError, zlib.error):  # a folder, no gzip, cut off, or a disk that can't read it
        return StoredFile.State.DAMAGED
    return StoredFile.State.WHOLE if found.hexdigest() == sha256 else StoredFile.State.DAMAGED


def bytes_of(file: EvidenceFile) -> Bytes:
    """What there is of a file's bytes. From ``with_bytes_recorded``, no query while nothing changed."""
    if not hasattr(file, "bytes_recorded"):
        file = EvidenceFile.objects.with_bytes_recorded().get(pk=file.pk)
    if not file.bytes_recorded:  # type: ignore[attr-defined]
        return Bytes.ONLY_HASH
    return _state(file.sha256, file.known_state, file.known_stamp, file.size_bytes)  # type: ignore[attr-defined]


def states_of(sizes: Mapping[str, int]) -> dict[str, Bytes]:
    """What there is of bytes that were sent, by sha256; their sizes are in bytes."""
    known: dict[str, tuple[str | None, str | None]] = {
        sha256: (state, stamp)
        for sha256, state, stamp in StoredFile.objects.filter(sha256__in=sizes).values_list(
            "sha256", "state", "stamp"
        )
    }
    found = ((sha256, size, *known.get(sha256, (None, None))) for sha256, size in sizes.items())
    return {sha256: _state(sha256, state, stamp, size) for sha256, size, state, stamp in found}


def _state(sha256: str, state: str | None, stamp: str | None, size_bytes: int | None) -> Bytes:
    words = {
        StoredFile.State.WHOLE: Bytes.HERE, StoredFile.State.DAMAGED: Bytes.DAMAGED,
        StoredFile.State.MISSING: Bytes.MISSING,
    }  # fmt: skip
    if evidence_store.is_remote():  # a page must not wait for a request per file
        return words.get(StoredFile.State(state), Bytes.UNCHECKED) if state else Bytes.UNCHECKED
    try:
        now = evidence_store.stamp(sha256)
        if now is None:
            return Bytes.MISSING
        if now == stamp and state in words:
            return words[StoredFile.State(state)]
        if size_bytes is not None and size_bytes <= AT_ONCE_BYTES:
            return words[StoredFile.State(check(sha256))]
    except OSError:
        return Bytes.UNREACHABLE
    return Bytes.UNCHECKED


@dataclass(frozen=True)
class Finding:
    """One file of a check: its hash, its size in bytes as it was sent, and how it was found."""

    sha256: str
    size_bytes: int
    state: str


def due(older_than: dt.timedelta | None = None) -> models.QuerySet[EvidenceBlob, tuple[str, int]]:
    """Recorded bytes that were not checked since, those never checked first: sha256 and size, each once."""
    known = StoredFile.objects.filter(sha256=models.OuterRef("sha256")).values("checked_at")[:1]
    rows = (
        EvidenceBlob.objects.order_by()
        .values("sha256")
        .annotate(checked_at=models.Subquery(known), size=models.Max("size_bytes"))
    )
    if older_than is not None:
        before = timezone.now() - older_than
        rows = rows.filter(models.Q(checked_at=None) | models.Q(checked_at__lt=before))
    return rows.order_by(models.F("checked_at").asc(nulls_first=True), "sha256").values_list("sha256", "size")


def check_all(
    files: Iterable[tuple[str, int]], until: Callable[[], bool] = lambda: False
) -> Iterator[Finding]:
    """Make the hashes of these files of ``due`` anew, until ``until`` says that it is enough.

    Raises ``StoreUnreachable``.
    """
    for sha256, size in files:
        if until():
            return
        yield Finding(sha256, size, check(sha256))


def check_what_is_due(seconds: float) -> None:
    """Check what was not checked for ``EVIDENCE_CHECK_DAYS``, for so many seconds at most."""
    end = time.monotonic() + seconds
    waiting = list(due(dt.timedelta(days=settings.EVIDENCE_CHECK_DAYS)))
    for item in check_all(waiting, lambda: time.monotonic() > end):
        if item.state != StoredFile.State.WHOLE:
            _log.error("evidence %s: %s", item.state, item.sha256)


@dataclass(frozen=True)
class Standing:
    """How recorded evidence was found when it was last checked: numbers of files."""

    files: int
    unchecked: int
    damaged: int
    missing: int

    @property
    def passed(self) -> bool:
        return not self.damaged and not self.missing


def standing(study_id: int | None = None) -> Standing:
    """Of all recorded evidence, or of one study's."""
    rows = EvidenceBlob.objects.order_by()
    if study_id is not None:
        rows = rows.filter(study=study_id)
    hashes = rows.values("sha256")
    files = rows.aggregate(n=models.Count("sha256", distinct=True))["n"]
    states = StoredFile.objects.filter(sha256__in=hashes).exclude(checked_at=None)
    counts = dict(states.order_by().values_list("state").annotate(n=models.Count("pk")))
    return Standing(
        files=files,
        unchecked=files - sum(counts.values()),
        damaged=counts.get(StoredFile.State.DAMAGED, 0),
        missing=counts.get(StoredFile.State.MISSING, 0),
    )
