"""Bytes of a study: pending until an attempt names them, then recorded with it. And how many there may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from rlvram_site.ledger.chain import lock_stream, record
from studies.models import EvidenceBlob, EvidenceFile, EvidenceQuota, PendingEvidence, StoredFile, Study
from studies.services.errors import ServiceError
from studies.services.outcomes import evidence_store
from studies.services.outcomes.evidence_checks import remember
from studies.services.outcomes.evidence_store import Arrived

_MIB = 1 << 20


class QuotaExceeded(ServiceError):
    """The study may not have that much evidence; nothing was kept."""


@dataclass(frozen=True)
class Usage:
    """Bytes of evidence that a study has, as they were sent, and how many it may have (None: no limit)."""

    files: int
    size_bytes: int
    pending_files: int
    pending_bytes: int
    limit_bytes: int | None

    @property
    def total_bytes(self) -> int:
        return self.size_bytes + self.pending_bytes


def usage(study: Study) -> Usage:
    """What the study has now, and its limit."""
    sums = {"files": models.Count("pk"), "size": models.Sum("size_bytes", default=0)}
    kept = EvidenceBlob.objects.filter(study=study).order_by().aggregate(**sums)
    pending = PendingEvidence.objects.filter(study=study).order_by().aggregate(**sums)
    return Usage(kept["files"], kept["size"], pending["files"], pending["size"], limit_of(study))


def limit_of(study: Study) -> int | None:
    """The study's limit in bytes: its own, or the site's; None without one."""
    own = EvidenceQuota.objects.filter(study=study).values_list("limit_mib", flat=True).first()
    return own * _MIB if own is not None else settings.EVIDENCE_STUDY_QUOTA_BYTES or None


def take_bytes(
    study: Study, chunks: Iterable[bytes], name: str, announced_sha256: str | None = None
) -> tuple[Arrived, bool]:
    """Store bytes for a study. They are recorded with the attempt that names them, or now if one does.

    Returns what arrived, and whether the study did not have it before. Sent again, a damaged or missing file
    is whole again. Raises ``WrongHash``, ``EvidenceTooLarge``, ``QuotaExceeded``, ``DiskFull`` or
    ``StoreUnreachable``; then nothing is kept.
    """
    with evidence_store.receive(chunks, name, announced_sha256) as arrived:
        new = _announce(study, arrived, name)
        try:
            kept = arrived.keep()
        except BaseException:
            if new:
                forget_pending(study, [arrived.sha256])
            raise
    remember(kept.sha256, StoredFile.State.WHOLE, kept.stamp)
    if new and EvidenceFile.objects.filter(study=study, sha256=arrived.sha256).exists():
        with transaction.atomic():
            lock_stream(study.stream)
            blobs, late = blobs_for(study, [arrived.sha256])
            for blob in late:
                record(blob)
            forget_pending(study, blobs)
    return arrived, new


def _announce(study: Study, arrived: Arrived, name: str) -> bool:
    """Say that these bytes are coming before they are there: so the collector can't take them in between."""
    now = timezone.now()
    with transaction.atomic():
        lock_stream(study.stream)
        StoredFile.objects.update_or_create(
            sha256=arrived.sha256, defaults={"sent_at": now},
            create_defaults={"sent_at": now, "state": StoredFile.State.ARRIVING},
        )  # fmt: skip
        if EvidenceBlob.objects.filter(study=study, sha256=arrived.sha256).exists():
            return False
        known = PendingEvidence.objects.filter(study=study, sha256=arrived.sha256)
        if known.update(sent_at=now):
            return False
        _check_quota(study, arrived, name)
        PendingEvidence.objects.create(
            study=study, sha256=arrived.sha256, size_bytes=arrived.size_bytes, sent_at=now
        )
        return True


def _check_quota(study: Study, arrived: Arrived, name: str) -> None:
    limit = limit_of(study)
    if limit is None:
        return
    used = usage(study).total_bytes
    if used + arrived.size_bytes > limit:
        raise QuotaExceeded(
            f"{name}: has {arrived.size_bytes} bytes, expected at most {max(0, limit - used)}: the study has "
            f"{used} of the {limit} bytes of evidence that it may have. Staff can raise that limit."
        )


def known_sizes(study: Study, hashes: Iterable[str]) -> dict[str, int]:
    """Sizes in bytes, by sha256, of those of these that were sent for the study, recorded or on their way."""
    wanted = list(hashes)
    return {
        sha256: size
        for model in (PendingEvidence, EvidenceBlob)
        for sha256, size in model._default_manager.filter(study=study, sha256__in=wanted).values_list(
            "sha256", "size_bytes"
        )
    }


def blobs_for(study: Study, hashes: Iterable[str]) -> tuple[dict[str, EvidenceBlob], list[EvidenceBlob]]:
    """The rows of those of these that were sent, by sha256, and which of them are new: still to be recorded.

    The study's stream is locked.
    """
    wanted = set(hashes)
    if not wanted:
        return {}, []
    found = {row.sha256: row for row in EvidenceBlob.objects.filter(study=study, sha256__in=wanted)}
    pending = PendingEvidence.objects.filter(study=study, sha256__in=wanted - found.keys())
    new = [EvidenceBlob(study=study, sha256=row.sha256, size_bytes=row.size_bytes) for row in pending]
    return found | {row.sha256: row for row in new}, new


def forget_pending(study: Study, hashes: Iterable[str]) -> None:
    """These are recorded now."""
    PendingEvidence.objects.filter(study=study, sha256__in=list(hashes)).delete()
