"""Sampled memory of one attempt over time, thinned for a figure without losing a peak."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, cast

from studies.evidence.errors import EvidenceError
from studies.evidence.sample_rows import SampleRow, read_rows
from studies.models import Attempt, EvidenceFile
from studies.services.outcomes.evidence_checks import Bytes, bytes_of
from studies.services.outcomes.evidence_parts import WholeFile, whole_files

MOST_ROWS = 500_000
"""Rows that are read for a figure; an upload may have more."""
BUCKETS = 600
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class Phase:
    """A phase by its name, from its first to its last sample; seconds since the first sample of all."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class MemoryTimeline:
    """Memory by device over time.

    Attributes:
        source: the file, or words for where the samples came from.
        devices: for each device column, seconds since the first sample and MiB. Each point is the largest
            sample of its bucket of time, so the peak is always among them.
        phases: in their order; empty where the samples name none.
        rows: rows read.
        complete: whether that is all of them.
    """

    source: str
    devices: dict[str, tuple[tuple[float, float], ...]]
    phases: tuple[Phase, ...]
    rows: int
    complete: bool


def memory_timeline(attempt: Attempt) -> MemoryTimeline | None:
    """The first stored samples of ``attempt``; None where none were sent or they are not here any more."""
    for file in _stored_samples(attempt):
        try:
            with file.open() as stored:
                return _timeline(_lines(stored), file.name)
        except (OSError, EOFError, zlib.error):
            continue
    sent = (attempt.texts or {}).get("samples")
    return _timeline(sent.splitlines(), "sent with the record") if sent else None


def unreadable_samples(attempt: Attempt) -> list[tuple[str, str]]:
    """Files of samples whose bytes should be here and can't be read: name, and which way."""
    found = [
        (file.name, bytes_of(file)) for file in attempt.files.all() if file.kind == EvidenceFile.Kind.SAMPLES
    ]
    return [
        (name, str(state))
        for name, state in found
        if state in (Bytes.DAMAGED, Bytes.MISSING, Bytes.UNREACHABLE)
    ]


def _stored_samples(attempt: Attempt) -> list[WholeFile]:
    samples = [file for file in attempt.files.all() if file.kind == EvidenceFile.Kind.SAMPLES]
    here = [file for file in samples if bytes_of(file).readable]
    try:
        return whole_files((file.name, file.sha256) for file in here)
    except EvidenceError:  # parts that came later need not be all of them
        return []


def _lines(stored: IO[bytes]) -> Iterator[str]:
    """The file's lines, unpacked if the uploader sent it packed."""
    buffered = io.BufferedReader(cast("io.RawIOBase", stored))
    packed = buffered.peek(2)[:2] == _GZIP_MAGIC
    content: Any = gzip.GzipFile(fileobj=buffered, mode="rb") if packed else buffered
    return iter(io.TextIOWrapper(content, encoding="utf-8", errors="replace"))


def _timeline(lines: Iterable[str], source: str) -> MemoryTimeline | None:
    rows = read_rows(lines, source)
    read = list(islice(rows, MOST_ROWS))
    if not read:
        return None
    start = min(row.timestamp_ns for row in read)
    length = max(row.timestamp_ns for row in read) - start
    largest: dict[tuple[int, int], tuple[float, float]] = {}
    for row in read:
        bucket = (row.timestamp_ns - start) * BUCKETS // (length + 1)
        for device, mib in row.values.items():
            before = largest.get((device, bucket))
            if mib is not None and (before is None or mib > before[1]):
                largest[device, bucket] = ((row.timestamp_ns - start) / 1e9, float(mib))
    devices: dict[str, list[tuple[float, float]]] = {}
    for (device, _), point in sorted(largest.items()):
        devices.setdefault(f"device {device}", []).append(point)
    return MemoryTimeline(
        source=source,
        devices={name: tuple(points) for name, points in devices.items()},
        phases=tuple(_phases(read, start)),
        rows=len(read),
        complete=next(rows, None) is None,
    )


def _phases(rows: Iterable[SampleRow], start: int) -> Iterator[Phase]:
    """Runs of samples in one phase."""
    name, first, last = "", 0, 0
    for row in rows:
        if row.phase == name and name:
            last = row.timestamp_ns
            continue
        if name:
            yield Phase(name, (first - start) / 1e9, (last - start) / 1e9)
        name, first, last = row.phase or "", row.timestamp_ns, row.timestamp_ns
    if name:
        yield Phase(name, (first - start) / 1e9, (last - start) / 1e9)
