"""Files of attempts: those that come after their attempt was recorded, and what a receipt says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import Prefetch

from host.kinds import TAIL
from rlvram_site.ledger.chain import lock_stream, record_all
from studies.models import Attempt, EvidenceFile
from studies.services.errors import ServiceError
from studies.services.outcomes.attempts import FileEntry
from studies.services.outcomes.evidence_bytes import blobs_for, forget_pending


class FileConflict(ServiceError):
    """The attempt already has a file of that name with other bytes; nothing was changed."""


def add_late_files(attempt: Attempt, entries: Sequence[FileEntry]) -> list[tuple[EvidenceFile, bool]]:
    """Attach files to a recorded attempt. Its outcome stays: it rests on what came with it.

    The bytes of a file that was only named by its hash may follow later under the same name and hash.
    Raises ``FileConflict`` for a name that stands there with another hash.
    """
    with transaction.atomic():
        lock_stream(attempt.study.stream)
        have = {row.name: row for row in attempt.files.all()}
        blobs, sent = blobs_for(attempt.study, [entry.sha256 for entry in entries])
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
        record_all([*sent, *(row for row, new in result if new)])
        forget_pending(attempt.study, blobs)
    return result


def files_of_attempt() -> Prefetch:
    """An attempt's files with all that ``bytes_of`` asks for, in one query for them all."""
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
