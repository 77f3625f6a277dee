"""Sampled device memory: from CSV text to the peak, and to what is wrong with the sampling.

Three forms are read, each with or without its header:

- wide: `timestamp_ns,MiB,MiB,…`, one column per task device;
- wide with phase: `timestamp_ns,step,phase,MiB,MiB,…`;
- long: `timestamp_ns,step,phase,gpu_index,memory_used_mib,gpu_utilization_pct`, always with its header.

Rows are read one at a time and nothing but the maxima is kept. A peak is the largest sample of any task
device: a lower bound of what was used, because nothing is known between two samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from studies.evidence.errors import EvidenceError

NOMINAL_INTERVAL_NS = 100_000_000
"""The study's sampling interval: 100 ms."""

LONGEST_GAP_INTERVALS = 10
"""A longer silence of the sampler, in intervals, is reported."""

MOST_DEVICES = 1024
"""Device columns of one file."""

_MOST_PROBLEMS = 20
_MOST_DIGITS = 19


@dataclass(frozen=True)
class SampleRow:
    """One row: nanoseconds since the epoch, MiB by device column, and the phase if the row names one."""

    timestamp_ns: int
    values: Mapping[int, float]
    step: int | None = None
    phase: str | None = None


@dataclass(frozen=True)
class DevicePeak:
    """The largest sample of one device.

    Attributes:
        device: UUID where the device map names one, else `device N` by column, from 0.
        mib: MiB.
        timestamp_ns: when it was sampled, nanoseconds since the epoch.
        phase: phase of the device's largest sample that names one, or None if no file has phases.
        step: step of that sample, likewise.
    """

    device: str
    mib: float
    timestamp_ns: int
    phase: str | None = None
    step: int | None = None


@dataclass(frozen=True)
class SampledPeak:
    """What sampling says of one invocation.

    Attributes:
        devices: peak of each device, in the order of the columns.
        sample_rows: rows read.
        first_ns, last_ns: times of the first and the last row, or None without rows.
        problems: what is wrong with the sampling, in words.
    """

    devices: tuple[DevicePeak, ...]
    sample_rows: int
    first_ns: int | None
    last_ns: int | None
    problems: tuple[str, ...] = ()

    @property
    def overall(self) -> DevicePeak | None:
        """The device with the largest peak; of equal ones the first."""
        return max(self.devices, key=lambda peak: peak.mib, default=None)

    @property
    def mib(self) -> float | None:
        """Largest sample of any task device, MiB, or None without samples. Never zero for a missing value."""
        overall = self.overall
        return overall.mib if overall else None


class _Problems(list[str]):
    """Keeps the first few, and counts the others."""

    dropped = 0

    def note(self, text: str) -> None:
        if len(self) < _MOST_PROBLEMS:
            self.append(text)
        else:
            self.dropped += 1

    def all(self) -> tuple[str, ...]:
        return (*self, f"{self.dropped} more of this kind") if self.dropped else tuple(self)


@dataclass(frozen=True)
class _Layout:
    """Which cell holds what."""

    memory: Mapping[int, int]  # device column -> cell; empty for the long form
    time: int = 0
    step: int | None = None
    phase: int | None = None
    index: int | None = None
    value: int | None = None
    width: int = 0


def _layout(cells: list[str]) -> tuple[_Layout | None, bool]:
    """The layout that a first row shows, and whether that row is a header."""
    names = [cell.lower() for cell in cells]
    if not _is_whole(cells[0]):
        if {"gpu_index", "memory_used_mib"} <= set(names):
            place = {name: position for position, name in enumerate(names)}
            return _Layout(
                memory={},
                time=place.get("timestamp_ns", 0),
                step=place.get("step"),
                phase=place.get("phase"),
                index=place["gpu_index"],
                value=place["memory_used_mib"],
                width=len(cells),
            ), True
        phase = names.index("phase") if "phase" in names else None
        step = names.index("step") if "step" in names else None
        columns = [position for position in range(1, len(names)) if position not in (phase, step)]
        in_mib = [position for position in columns if "mib" in names[position]]
        memory = dict(enumerate(in_mib or columns))
        return (_Layout(memory, step=step, phase=phase, width=len(cells)) if memory else None), True
    if len(cells) > 2 and cells[2] and not _is_number(cells[2]) and not _is_missing(cells[2]):
        columns = list(range(3, len(cells)))
        return _Layout(memory=dict(enumerate(columns)), step=1, phase=2, width=len(cells)), False
    columns = list(range(1, len(cells)))
    return (_Layout(memory=dict(enumerate(columns)), width=len(cells)) if columns else None), False


def _is_whole(cell: str) -> bool:
    digits = cell.removeprefix("-")
    return len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdecimal()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_missing(cell: str) -> bool:
    return cell.strip("[]").lower() in {"", "n/a", "nan", "not supported", "unknown error"}


def _mib(cell: str) -> float | None:
    """MiB of one cell; None for a missing value. `28882 MiB`, as nvidia-smi prints it, is read too."""
    if _is_missing(cell):
        return None
    value = float(cell.removesuffix("MiB").strip())
    if not math.isfinite(value) or value < 0:
        raise ValueError(cell)
    return value


def read_rows(lines: Iterable[str], file: str, problems: _Problems | None = None) -> Iterator[SampleRow]:
    """The rows of one CSV. A row that can't be read is left out and named in `problems`.

    A last line that was cut while it was written is left out the same way; cut in the middle of its last
    number it only reads smaller than it was, which can't raise a peak.
    """
    found = problems if problems is not None else _Problems()
    layout: _Layout | None = None
    for number, line in enumerate(lines, start=1):
        line = line.lstrip("\ufeff").replace("\x00", "").strip()
        if not line:
            continue
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        if layout is None:
            layout, is_header = _layout(cells)
            if layout is None:
                found.note(f"{file} line {number}: one cell only, expected timestamp_ns and MiB per device")
                continue
            if is_header:
                continue
        if layout.width > MOST_DEVICES:
            raise EvidenceError(file, "columns", layout.width, f"at most {MOST_DEVICES}")
        if len(cells) != layout.width:
            found.note(f"{file} line {number}: {len(cells)} cells, expected {layout.width}")
            continue
        try:
            yield _row(cells, layout)
        except ValueError:
            found.note(f"{file} line {number}: {line[:80]!r} is no row of samples")


def _whole(cell: str) -> int:
    """A whole number that a time in nanoseconds can be, or a device."""
    if not _is_whole(cell):
        raise ValueError(cell)
    return int(cell)


def _row(cells: list[str], layout: _Layout) -> SampleRow:
    if layout.index is not None and layout.value is not None:
        values = {_whole(cells[layout.index]): _mib(cells[layout.value])}
    else:
        values = {device: _mib(cells[position]) for device, position in layout.memory.items()}
    step = cells[layout.step] if layout.step is not None else ""
    phase = cells[layout.phase] if layout.phase is not None else ""
    return SampleRow(
        timestamp_ns=_whole(cells[layout.time]),
        values={device: value for device, value in values.items() if value is not None},
        step=int(step) if _is_whole(step) else None,
        phase=phase or None,
    )


def sampled_peak(
    files: Iterable[tuple[str, Iterable[str]]],
    *,
    devices: Mapping[int, str] | None = None,
    started_ns: int | None = None,
    ended_ns: int | None = None,
    interval_ns: int = NOMINAL_INTERVAL_NS,
) -> SampledPeak:
    """The peak over all sampled files of one invocation.

    Args:
        files: name and text lines of each CSV.
        devices: UUID of each device column, from 0, if there is a device map.
        started_ns: start of the invocation, nanoseconds since the epoch, if known.
        ended_ns: its end, likewise.
        interval_ns: nominal sampling interval, nanoseconds.
    """
    problems = _Problems()
    peaks: dict[int, DevicePeak] = {}
    phased: dict[int, DevicePeak] = {}
    total, first, last = 0, None, None
    limit = interval_ns * LONGEST_GAP_INTERVALS
    for file, lines in files:
        previous: int | None = None
        begin: int | None = None
        rows = 0
        for row in read_rows(lines, file, problems):
            rows += 1
            begin = row.timestamp_ns if begin is None else begin
            if previous is not None:
                _check_step(file, previous, row.timestamp_ns, limit, problems)
            previous = row.timestamp_ns
            for column, mib in row.values.items():
                if column not in peaks and len(peaks) >= MOST_DEVICES:
                    raise EvidenceError(file, "devices", f"over {MOST_DEVICES}", f"at most {MOST_DEVICES}")
                for largest in (peaks, phased) if row.phase else (peaks,):
                    if column not in largest or mib > largest[column].mib:
                        name = (devices or {}).get(column, f"device {column}")
                        largest[column] = DevicePeak(name, mib, row.timestamp_ns, row.phase, row.step)
        if begin is None or previous is None:
            problems.note(f"{file}: no samples")
            continue
        total += rows
        first = begin if first is None else min(first, begin)
        last = previous if last is None else max(last, previous)
        if started_ns is not None and begin - started_ns > limit:
            problems.note(f"{file}: sampler started {_seconds(begin - started_ns)} after the invocation")
        if ended_ns is not None and ended_ns - previous > limit:
            early = _seconds(ended_ns - previous)
            problems.note(f"{file}: sampler stopped {early} before the invocation ended")
    if devices is not None and total:
        for column in sorted(set(peaks) - set(devices)):
            problems.note(f"device {column} is sampled, but missing from the device map")
        for column in sorted(set(devices) - set(peaks)):
            problems.note(f"{devices[column]} is in the device map, but has no sample")
    for column, peak in phased.items():
        peaks[column] = replace(peaks[column], phase=peak.phase, step=peak.step)
    ordered = tuple(peaks[column] for column in sorted(peaks))
    return SampledPeak(ordered, total, first, last, problems.all())


def _check_step(file: str, before: int, now: int, limit: int, problems: _Problems) -> None:
    if now - before > limit:
        problems.note(f"{file}: no sample for {_seconds(now - before)} after {before} ns")
    elif now < before:
        problems.note(f"{file}: time runs back by {_seconds(before - now)} at {now} ns")


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.1f} s"
