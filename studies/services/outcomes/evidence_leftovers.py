"""Removing stored files that no record names: of uploads that were refused, killed or never went on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from itertools import islice

from django.db import transaction
from django.utils import timezone

from rlvram_site.ledger.chain import lock_stream
from studies.models import EvidenceBlob, PendingEvidence, StoredFile
from studies.services.outcomes import evidence_store

_BATCH = 500


def collect(grace: dt.timedelta, *, dry_run: bool = False) -> Iterator[str]:
    """Remove what no record names and what is older than ``grace``; yields a line for each thing.

    Bytes that were sent for a study and that no attempt has named within ``grace`` stop being kept for it.
    """
    before = timezone.now() - grace
    for path in evidence_store.abandoned(grace.total_seconds()):
        if not dry_run:
            path.unlink(missing_ok=True)
        yield f"upload that never ended: {path.name}"
    yield from _forgotten(before, dry_run)
    stored = evidence_store.stored()
    while group := list(islice(stored, _BATCH)):
        yield from _unnamed(group, before, dry_run)


def _forgotten(before: dt.datetime, dry_run: bool) -> Iterator[str]:
    old = PendingEvidence.objects.filter(sent_at__lt=before).select_related("study").order_by("pk")
    for row in old.iterator():
        if dry_run or _forget(row, before):
            yield f"sent for {row.study.slug}, named by no attempt: {row.sha256} ({row.size_bytes} bytes)"


def _forget(row: PendingEvidence, before: dt.datetime) -> bool:
    # An attempt that names it is recorded under the same lock, before or after.
    with transaction.atomic():
        lock_stream(row.study.stream)
        return bool(PendingEvidence.objects.filter(pk=row.pk, sent_at__lt=before).delete()[0])


def _unnamed(group: Iterable[tuple[str, float]], before: dt.datetime, dry_run: bool) -> Iterator[str]:
    old = [sha256 for sha256, written in group if written < before.timestamp()]
    named = _named(old, before if dry_run else None)
    for sha256 in old:
        if sha256 not in named and (dry_run or _remove(sha256, before)):
            yield f"stored file that no record names: {sha256}"


def _named(hashes: list[str], forgotten_before: dt.datetime | None = None) -> set[str]:
    """Which of these a record names, or an upload that may still go on."""
    pending = PendingEvidence.objects.filter(sha256__in=hashes)
    if forgotten_before is not None:
        pending = pending.filter(sent_at__gte=forgotten_before)
    recorded = EvidenceBlob.objects.filter(sha256__in=hashes).order_by()
    return {*recorded.values_list("sha256", flat=True), *pending.values_list("sha256", flat=True)}


def _remove(sha256: str, before: dt.datetime) -> bool:
    """Remove a file unless it is sent again: whoever sends it waits for this row, or is seen in it."""
    with transaction.atomic():
        StoredFile.objects.get_or_create(sha256=sha256, defaults={"state": StoredFile.State.ARRIVING})
        row = StoredFile.objects.select_for_update().get(sha256=sha256)
        if (row.sent_at is not None and row.sent_at >= before) or _named([sha256]):
            return False
        evidence_store.remove(sha256)
        row.delete()
        return True
