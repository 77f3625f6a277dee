"""Rows of sampled device memory: one line of a CSV, read exactly.

Three forms are read, each with or without its header:

- wide: `timestamp_ns,MiB,MiB,…`, one column per task device;
- wide with phase: `timestamp_ns,step,phase,MiB,MiB,…`;
- long: `timestamp_ns,step,phase,gpu_index,memory_used_mib,gpu_utilization_pct`, always with its header.

What a line means is decided here. `sample_blocks` reads many plain lines at once and has to agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from studies.evidence.errors import EvidenceError

MOST_DEVICES = 1024
"""Device columns of one file."""

MOST_DIGITS = 19
"""Digits of a whole number in a table."""

_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class SampleRow:
    """One row: nanoseconds since the epoch, MiB by device column, and the phase if the row names one."""

    timestamp_ns: int
    values: Mapping[int, float]
    step: int | None = None
    phase: str | None = None


class Problems(list[str]):
    """Keeps the first few, and counts the others."""

    dropped = 0

    @property
    def full(self) -> bool:
        """Whether another one would only be counted."""
        return len(self) >= _MOST_PROBLEMS

    def note(self, text: str) -> None:
        if not self.full:
            self.append(text)
        else:
            self.dropped += 1

    def all(self) -> tuple[str, ...]:
        return (*self, f"{self.dropped} more of this kind") if self.dropped else tuple(self)


@dataclass(frozen=True)
class Layout:
    """Which cell holds what."""

    memory: Mapping[int, int]  # device column -> cell; empty for the long form
    time: int = 0
    step: int | None = None
    phase: int | None = None
    index: int | None = None
    value: int | None = None
    width: int = 0


def _layout(cells: list[str]) -> tuple[Layout | None, bool]:
    """The layout that a first row shows, and whether that row is a header."""
    names = [cell.lower() for cell in cells]
    if not _is_whole(cells[0]):
        if {"gpu_index", "memory_used_mib"} <= set(names):
            place = {name: position for position, name in enumerate(names)}
            return Layout(
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
        return (Layout(memory, step=step, phase=phase, width=len(cells)) if memory else None), True
    if len(cells) > 2 and cells[2] and not _is_number(cells[2]) and not _is_missing(cells[2]):
        columns = list(range(3, len(cells)))
        return Layout(memory=dict(enumerate(columns)), step=1, phase=2, width=len(cells)), False
    columns = list(range(1, len(cells)))
    return (Layout(memory=dict(enumerate(columns)), width=len(cells)) if columns else None), False


def _is_whole(cell: str) -> bool:
    digits = cell.removeprefix("-")
    return len(digits) <= MOST_DIGITS and digits.isascii() and digits.isdecimal()


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


class RowReader:
    """Reads the lines of one CSV in their order; the first row that has cells shows the layout."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.layout: Layout | None = None
        self._file = file
        self._problems = problems

    def read(self, line: str, number: int) -> SampleRow | None:
        """The row in line `number`, or None. A row that can't be read is left out and named as a problem.

        A last line that was cut while it was written is left out the same way; cut in the middle of its last
        number it only reads smaller than it was, which can't raise a peak.

        Raises:
            EvidenceError: the file has more columns than `MOST_DEVICES`.
        """
        line = line.lstrip("\ufeff").replace("\x00", "").strip()
        if not line:
            return None
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        if self.layout is None:
            self.layout, is_header = _layout(cells)
            if self.layout is None:
                self._problems.note(
                    f"{self._file} line {number}: one cell only, expected timestamp_ns and MiB per device"
                )
                return None
            if is_header:
                return None
        layout = self.layout
        if layout.width > MOST_DEVICES:
            raise EvidenceError(self._file, "columns", layout.width, f"at most {MOST_DEVICES}")
        if len(cells) != layout.width:
            self._problems.note(f"{self._file} line {number}: {len(cells)} cells, expected {layout.width}")
            return None
        try:
            return _row(cells, layout)
        except ValueError:
            self._problems.note(f"{self._file} line {number}: {line[:80]!r} is no row of samples")
            return None


def read_rows(lines: Iterable[str], file: str) -> Iterator[SampleRow]:
    """The rows of one CSV, without those that can't be read."""
    reader = RowReader(file, Problems())
    for number, line in enumerate(lines, start=1):
        if (row := reader.read(line, number)) is not None:
            yield row


def _whole(cell: str) -> int:
    """A whole number that a time in nanoseconds can be, or a device."""
    if not _is_whole(cell):
        raise ValueError(cell)
    return int(cell)


def _row(cells: list[str], layout: Layout) -> SampleRow:
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
