"""Many lines of samples at once, as arrays: those that are plainly written.

A plain row has as many cells as the layout says, and numbers of digits with at most one point, with blanks or
quotes around them, a `MiB` behind them, or `[N/A]` instead. Every other row is left to `sample_rows`, which
alone decides what a line means; what is read here is what it would read, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from studies.evidence.sample_rows import Layout

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_LINE_FEED, _COMMA, _POINT, _QUOTE, _ZERO, _NINE, _MINUS = b'\n,."09-'
_BLANKS = np.zeros(256, bool)
_BLANKS[list(b" \t\r\n\x0b\x0c")] = True
_MOST_BLANKS = 3
_EXACT_DIGITS = 15  # a double holds every whole number of so many digits
_POWERS = np.power(10.0, np.arange(_EXACT_DIGITS + 2))
_TIME_DIGITS = 19
_MISSING = (b"[N/A]", b"N/A")
_UNITS = (b" MiB", b"MiB")


@dataclass(frozen=True)
class BlockRows:
    """What the lines of one block are. Arrays over lines have one entry each, those over rows are shorter.

    Attributes:
        starts, ends: bytes of each line, without its line feed.
        blank: lines with nothing in them.
        hopeless: lines that are certainly no row of samples.
        row: for each line its place in the arrays below if it is plain, else -1.
        times: nanoseconds since the epoch.
        values: MiB, NaN where missing; rows by value cells.
        devices: device of each value cell, the same for all rows; or None in the long form.
        index: device of each row in the long form, else None.
        phased: rows that name a phase.
    """

    starts: Whole
    ends: Whole
    blank: Flags
    hopeless: Flags
    row: Whole
    times: Whole
    values: npt.NDArray[np.float64]
    devices: tuple[int, ...] | None
    index: Whole | None
    phased: Flags


def read_block(data: bytes, layout: Layout) -> BlockRows:
    """The lines of a block, which ends with a line feed."""
    text = np.frombuffer(data, np.uint8)
    line_feeds = text == _LINE_FEED
    ends = np.flatnonzero(line_feeds)
    starts = np.concatenate(([0], ends[:-1] + 1))
    marks = np.flatnonzero(line_feeds | (text == _COMMA))
    last = np.searchsorted(marks, ends)
    cells = np.diff(last, prepend=-1)
    whole = cells == layout.width
    lines = np.flatnonzero(whole)
    blank = np.zeros(len(ends), bool)
    hopeless = np.zeros(len(ends), bool)
    if len(lines) < len(ends):
        blank = ~np.logical_or.reduceat(~_BLANKS[text], starts)
        # Commas count: a line of nothing else is not empty.
        hopeless = np.logical_or.reduceat((text > 32) & (text < 127), starts) & ~whole

    cut = _Cells(data, text, marks, last[lines] - layout.width + 1)
    times, plain, bad_time = cut.times(layout.time)
    hopeless[lines[bad_time]] = True
    index: Whole | None = None
    if layout.index is not None and layout.value is not None:
        devices, columns = None, [layout.value]
        index, is_index, _ = cut.times(layout.index)
        plain &= is_index
    else:
        devices, columns = tuple(layout.memory), list(layout.memory.values())
    values, readable = cut.amounts(columns)
    plain &= readable.all(axis=1)
    phased = np.zeros(len(lines), bool)
    if layout.phase is not None:
        phased, certain = cut.named(layout.phase)
        plain &= certain
    row = np.full(len(ends), -1)
    row[lines[plain]] = np.flatnonzero(plain)
    return BlockRows(starts, ends, blank, hopeless & ~blank, row, times, values, devices, index, phased)


class _Cells:
    """The cells of the lines that have as many as they should."""

    def __init__(self, data: bytes, text: Bytes, marks: Whole, first: Whole) -> None:
        self._text = text
        self._marks = np.concatenate(([-1], marks))
        self._first = first
        self._quotes = b'"' in data
        self._blanks = any(blank in data for blank in (b" ", b"\t", b"\r"))
        self._units = b"MiB" in data
        self._gaps = b"N/A" in data

    def _bounds(self, columns: Sequence[int]) -> tuple[Whole, Whole]:
        """First byte of each cell and the one behind its last, without blanks and then without quotes."""
        places = (self._first[:, None] + np.asarray(columns, np.int64)).ravel()
        start, end = self._marks[places] + 1, self._marks[places + 1]
        for _ in range(_MOST_BLANKS if self._blanks else 0):
            start += (start < end) & _BLANKS[self._text[start]]
            end -= (start < end) & _BLANKS[self._text[end - 1]]
        if self._quotes:
            start += (start < end) & (self._text[start] == _QUOTE)
            end -= (start < end) & (self._text[end - 1] == _QUOTE)
        return start, end

    def times(self, column: int) -> tuple[Whole, Flags, Flags]:
        """Whole numbers without a sign, which cells are one, and which certainly are none."""
        start, end = self._bounds([column])
        length = end - start
        first = self._text[start]
        number, odd = np.zeros(len(start), np.int64), (length == 0) | (length > _TIME_DIGITS)
        # The largest of 19 digits are more than 64 bits hold.
        odd |= (length == _TIME_DIGITS) & (first == _NINE)
        for place in range(min(int(length.max(initial=0)), _TIME_DIGITS)):
            inside = length > place
            digit = self._text[start + place * inside] - np.uint8(_ZERO)
            odd |= inside & (digit > 9)
            number = np.where(inside, number * 10 + digit, number)
        wrong = (length > 0) & (first > 32) & (first < 127) & ((first < _ZERO) | (first > _NINE))
        return number, ~odd, wrong & (first != _MINUS) & (first != _QUOTE)

    def amounts(self, columns: Sequence[int]) -> tuple[npt.NDArray[np.float64], Flags]:
        """MiB, NaN where missing, and which cells can be read here; rows by columns."""
        start, end = self._bounds(columns)
        missing = start == end
        if self._gaps:
            for word in _MISSING:
                missing |= self._ends_with(start, end, word) & (end - start == len(word))
        if self._units:
            for unit in _UNITS:
                end -= len(unit) * self._ends_with(start, end, unit)
        length = end - start
        number = np.zeros(len(start), np.int64)
        behind, digits = np.zeros(len(start), np.int64), np.zeros(len(start), np.int64)
        pointed, odd = np.zeros(len(start), bool), length > _EXACT_DIGITS + 1
        for place in range(min(int(length.max(initial=0)), _EXACT_DIGITS + 1)):
            inside = length > place
            letter = self._text[start + place * inside]
            digit = letter - np.uint8(_ZERO)
            is_digit = inside & (digit <= 9)
            point = inside & (letter == _POINT)
            odd |= (inside & ~is_digit & ~point) | (point & pointed)
            number = np.where(is_digit, number * 10 + digit, number)
            behind += is_digit & pointed
            digits += is_digit
            pointed |= point
        odd |= (digits == 0) | (digits > _EXACT_DIGITS)
        value = np.where(missing, np.nan, number / _POWERS[behind])
        shape = (len(self._first), len(columns))
        return value.reshape(shape), (missing | ~odd).reshape(shape)

    def named(self, column: int) -> tuple[Flags, Flags]:
        """Which cells hold a text, and of which that is certain."""
        start, end = self._bounds([column])
        first = self._text[start]
        empty = start == end
        return ~empty, empty | ((first > 32) & (first < 127) & (first != _QUOTE))

    def _ends_with(self, start: Whole, end: Whole, word: bytes) -> Flags:
        found = end - start >= len(word)
        for back, letter in enumerate(reversed(word), start=1):
            found &= self._text[end - back * found] == letter
        return found
