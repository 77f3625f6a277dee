"""Recording evidence: bytes of a study, and files that come after their attempt was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import Prefetch

from host.kinds import TAIL
from rlvram_site.ledger.chain import lock_stream, record, record_all
from studies.models import Attempt, EvidenceBlob, EvidenceFile, Study
from studies.services.errors import ServiceError
from studies.services.outcomes import evidence_store
from studies.services.outcomes.attempts import FileEntry


class FileConflict(ServiceError):
    """The attempt already has a file of that name with other bytes; nothing was changed."""


def keep_blob(
    study: Study, chunks: Iterable[bytes], name: str, announced_sha256: str | None = None
) -> tuple[EvidenceBlob, bool]:
    """Store bytes and record that the study has them; the same bytes again find the same row.

    Raises ``WrongHash`` if the bytes are not the announced ones, ``EvidenceTooLarge`` above a limit.
    """
    stored = evidence_store.store(chunks, name, announced_sha256)
    with transaction.atomic():
        lock_stream(study.stream)
        blob = EvidenceBlob.objects.filter(study=study, sha256=stored.sha256).first()
        if blob is not None:
            return blob, False
        blob = EvidenceBlob(study=study, sha256=stored.sha256, size_bytes=stored.size_bytes)
        record(blob)
        return blob, True


def add_late_files(attempt: Attempt, entries: Sequence[FileEntry]) -> list[tuple[EvidenceFile, bool]]:
    """Attach files to a recorded attempt. Its outcome stays: it rests on what came with it.

    The bytes of a file that was only named by its hash may follow later under the same name and hash.
    Raises ``FileConflict`` for a name that stands there with another hash.
    """
    with transaction.atomic():
        lock_stream(attempt.study.stream)
        have = {row.name: row for row in attempt.files.all()}
        blobs = {
            row.sha256: row
            for row in EvidenceBlob.objects.filter(
                study=attempt.study, sha256__in=[e.sha256 for e in entries]
            )
        }
        result: list[tuple[EvidenceFile, bool]] = []
        for entry in entries:
            row = have.get(entry.name)
            if row is not None and row.sha256 != entry.sha256:
                raise FileConflict(
                    f"{attempt}: {entry.name} has the sha256 {row.sha256}, expected the same or another name"
                )
            if row is None:
                row = EvidenceFile(
                    study=attempt.study, attempt=attempt, blob=blobs.get(entry.sha256), name=entry.name,
                    kind=entry.kind, sha256=entry.sha256, size_bytes=entry.size_bytes, late=True,
                )  # fmt: skip
                have[entry.name] = row
                result.append((row, True))
            else:
                result.append((row, False))
        record_all([row for row, new in result if new])
    return result


def bytes_are_here(file: EvidenceFile) -> bool:
    """Whether the file's bytes can be read here: they came with it, or later under the same hash.

    A file from ``EvidenceFile.objects.with_bytes_recorded()`` costs no query.
    """
    recorded = getattr(file, "bytes_recorded", None)
    if recorded is None:
        recorded = has_bytes(file.study_id, file.sha256)
    return recorded and evidence_store.path_of(file.sha256).exists()


def has_bytes(study_id: int, sha256: str) -> bool:
    """Whether the study has recorded bytes with this sha256."""
    return EvidenceBlob.objects.filter(study=study_id, sha256=sha256).exists()


def files_of_attempt() -> Prefetch:
    """An attempt's files with all that ``bytes_are_here`` asks for, in one query for them all."""
    return Prefetch("files", EvidenceFile.objects.with_bytes_recorded())


def not_read(entries: Iterable[FileEntry]) -> Iterator[tuple[str, str]]:
    """Files of an upload on which its outcome does not rest, or not wholly: the name, and why."""
    for entry in entries:
        if not entry.stored:
            yield entry.name, "only its hash was sent"
        elif entry.kind == EvidenceFile.Kind.OTHER:
            yield entry.name, "kept, but its name says no kind of evidence"
        elif entry.name.startswith(TAIL):
            yield entry.name, "only its end was sent"


def remove_unrecorded(older_than_seconds: float) -> int:
    """Remove stored files that no study has recorded, and what killed uploads left. Returns their number.

    Younger ones stay: bytes are stored first and recorded after. Stored again, a file is young again.
    """
    number = evidence_store.remove_abandoned(older_than_seconds)
    for sha256 in evidence_store.stored_before(older_than_seconds):
        if not EvidenceBlob.objects.filter(sha256=sha256).exists():
            evidence_store.remove(sha256)
            number += 1
    return number
