"""Sampled device memory: from CSV text to the peak, and to what is wrong with the sampling.

Nothing but the maxima is kept, so that memory does not grow with the file. A peak is the largest sample of
any task device: a lower bound of what was used, because nothing is known between two samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from studies.evidence.errors import EvidenceError
from studies.evidence.sample_blocks import BlockRows, Whole, read_block
from studies.evidence.sample_rows import MOST_DEVICES, Problems, RowReader, SampleRow

NOMINAL_INTERVAL_NS = 100_000_000
"""The study's sampling interval: 100 ms."""

LONGEST_GAP_INTERVALS = 10
"""A longer silence of the sampler, in intervals, is reported."""

_PART_BYTES = 256 * 1024
_LONG_STRETCH = 128
"""Cells from which on arrays are faster than one row after another."""
_NONE = -1.0


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


def sampled_peak(
    files: Iterable[tuple[str, Iterable[bytes]]],
    *,
    devices: Mapping[int, str] | None = None,
    started_ns: int | None = None,
    ended_ns: int | None = None,
    interval_ns: int = NOMINAL_INTERVAL_NS,
) -> SampledPeak:
    """The peak over all sampled files of one invocation.

    Args:
        files: name and blocks of whole lines of each CSV, as `unpacking.line_blocks` makes them.
        devices: UUID of each device column, from 0, if there is a device map.
        started_ns: start of the invocation, nanoseconds since the epoch, if known.
        ended_ns: its end, likewise.
        interval_ns: nominal sampling interval, nanoseconds.

    Raises:
        EvidenceError: more than `MOST_DEVICES` columns or devices.
    """
    problems = Problems()
    peaks = _Peaks(devices or {})
    limit = interval_ns * LONGEST_GAP_INTERVALS
    read: list[_File] = []
    for name, blocks in files:
        file = _File(name, peaks, problems, limit)
        for block in blocks:
            file.take(block)
        if file.first is None or file.last is None:
            problems.note(f"{name}: no samples")
            continue
        read.append(file)
        if started_ns is not None and file.first - started_ns > limit:
            problems.note(f"{name}: sampler started {_seconds(file.first - started_ns)} after the invocation")
        if ended_ns is not None and ended_ns - file.last > limit:
            early = _seconds(ended_ns - file.last)
            problems.note(f"{name}: sampler stopped {early} before the invocation ended")
    if devices is not None and read:
        for column in sorted(set(peaks.largest) - set(devices)):
            problems.note(f"device {column} is sampled, but missing from the device map")
        for column in sorted(set(devices) - set(peaks.largest)):
            problems.note(f"{devices[column]} is in the device map, but has no sample")
    return SampledPeak(
        peaks.in_order(),
        sum(file.rows for file in read),
        min((file.first for file in read if file.first is not None), default=None),
        max((file.last for file in read if file.last is not None), default=None),
        problems.all(),
    )


class _Peaks:
    """The largest sample of each device column, and the largest that names a phase."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self.largest: dict[int, DevicePeak] = {}
        self.phased: dict[int, DevicePeak] = {}
        self._names = names

    def take(self, file: str, row: SampleRow) -> None:
        """Compare the samples of a row; of equal ones the earliest stays.

        Raises:
            EvidenceError: one more device than `MOST_DEVICES`.
        """
        for column, mib in row.values.items():
            if column not in self.largest and len(self.largest) >= MOST_DEVICES:
                raise EvidenceError(file, "devices", f"over {MOST_DEVICES}", f"at most {MOST_DEVICES}")
            for largest in (self.largest, self.phased) if row.phase else (self.largest,):
                if column not in largest or mib > largest[column].mib:
                    name = self._names.get(column, f"device {column}")
                    largest[column] = DevicePeak(name, mib, row.timestamp_ns, row.phase, row.step)

    def in_order(self) -> tuple[DevicePeak, ...]:
        """By device column, with the phase where a file names one."""
        whole = {
            column: replace(peak, phase=named.phase, step=named.step)
            if (named := self.phased.get(column))
            else peak
            for column, peak in self.largest.items()
        }
        return tuple(whole[column] for column in sorted(whole))


class _File:
    """What was read of one CSV: its rows, its first and its last time, in nanoseconds since the epoch."""

    def __init__(self, name: str, peaks: _Peaks, problems: Problems, limit_ns: int) -> None:
        self.rows = 0
        self.first: int | None = None
        self.last: int | None = None
        self._name = name
        self._peaks = peaks
        self._problems = problems
        self._limit_ns = limit_ns
        self._reader = RowReader(name, problems)
        self._lines = 0

    def take(self, block: bytes) -> None:
        """Read the next whole lines."""
        position = 0
        while position < len(block) and not self._has_layout:
            end = block.index(b"\n", position)
            self._take_line(block[position:end], self._lines + 1)
            self._lines += 1
            position = end + 1
        for part in _parts(block, position):
            self._take_part(part)

    @property
    def _has_layout(self) -> bool:
        layout = self._reader.layout
        # Of a file with too many columns the next line is refused.
        return layout is not None and layout.width <= MOST_DEVICES

    def _take_line(self, line: bytes, number: int) -> None:
        row = self._reader.read(line.decode("utf-8", "replace"), number)
        if row is None:
            return
        self._follow(row.timestamp_ns)
        self.rows += 1
        self._peaks.take(self._name, row)

    def _follow(self, now: int) -> None:
        """Go on to the time of the next row."""
        before = self.last
        self.first = now if self.first is None else self.first
        self.last = now
        if before is None:
            return
        if now - before > self._limit_ns:
            self._problems.note(f"{self._name}: no sample for {_seconds(now - before)} after {before} ns")
        elif now < before:
            self._problems.note(f"{self._name}: time runs back by {_seconds(before - now)} at {now} ns")

    def _take_part(self, part: bytes) -> None:
        """Read some lines: stretches of plain rows at once, all others one by one and in their place."""
        assert self._reader.layout is not None
        read = read_block(part, self._reader.layout)
        left_out = read.blank
        if self._problems.full:
            left_out = left_out | read.hopeless
            self._problems.dropped += int(read.hopeless.sum())
        lines = np.flatnonzero(~left_out)
        breaks = np.flatnonzero(read.row[lines] < 0)
        begin = 0
        for stop in (*breaks.tolist(), len(lines)):
            if (stop - begin) * self._reader.layout.width >= _LONG_STRETCH:
                self._take_rows(part, read, lines[begin:stop])
            else:
                self._take_lines(part, read, lines[begin:stop])
            self._take_lines(part, read, lines[stop : stop + 1])
            begin = stop + 1
        self._lines += len(read.ends)

    def _take_lines(self, part: bytes, read: BlockRows, lines: Whole) -> None:
        for line in lines.tolist():
            self._take_line(part[read.starts[line] : read.ends[line]], self._lines + line + 1)

    def _take_rows(self, part: bytes, read: BlockRows, lines: Whole) -> None:
        """Read plain rows: of each device only those can matter that hold its largest sample."""
        places = read.row[lines]
        self._follow_all(read.times[places])
        self.rows += len(lines)
        candidates = set(self._largest(read, places, self._peaks.largest))
        named = places[read.phased[places]]
        candidates.update(self._largest(read, named, self._peaks.phased))
        for place in sorted(candidates):
            line = int(lines[np.searchsorted(places, place)])
            text = part[read.starts[line] : read.ends[line]].decode("utf-8", "replace")
            row = self._reader.read(text, self._lines + line + 1)
            assert row is not None
            self._peaks.take(self._name, row)

    def _largest(self, read: BlockRows, places: Whole, known: Mapping[int, DevicePeak]) -> Iterator[int]:
        """Of each device the first row with its largest sample, where that is larger than what is known."""
        if not len(places):
            return
        values = np.nan_to_num(read.values[places], nan=_NONE)
        if read.index is None:
            found = values.argmax(axis=0)
            largest = values[found, np.arange(values.shape[1])]
            devices = np.array(read.devices)
        else:
            # By device, the largest first, of equal ones the earliest.
            order = np.lexsort((-values[:, 0], read.index[places]))
            devices, first = np.unique(read.index[places][order], return_index=True)
            found = order[first]
            largest = values[found, 0]
        for device, place, mib in zip(
            devices.tolist(), places[found].tolist(), largest.tolist(), strict=True
        ):
            before = known.get(device)
            if mib > (before.mib if before else _NONE):
                yield place

    def _follow_all(self, times: Whole) -> None:
        self._follow(int(times[0]))
        steps = np.diff(times)
        remarkable = np.flatnonzero((steps > self._limit_ns) | (steps < 0)).tolist()
        for passed, place in enumerate(remarkable):
            if self._problems.full:
                self._problems.dropped += len(remarkable) - passed
                break
            self.last = int(times[place])
            self._follow(int(times[place + 1]))
        self.last = int(times[-1])


def _parts(block: bytes, position: int) -> Iterator[bytes]:
    """A block from a byte on in parts of whole lines, so that arrays over its cells stay small."""
    while position < len(block):
        end = block.rfind(b"\n", position, position + _PART_BYTES) + 1
        end = end or block.index(b"\n", position) + 1
        yield block[position:end]
        position = end


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.1f} s"
