"""Reads one log as a stream and keeps what can decide: causes, errors, step records and the tail.

The work grows with the log and not faster, and memory does not grow with it. One pattern is looked for in
whole blocks; only the pieces in which it is found are read, each once.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from studies.evidence.completion import STUDY_COUNTER, CompletionRule
from studies.evidence.context import Place
from studies.evidence.diagnoses import Diagnosis
from studies.evidence.findings import Candidate, EvidenceLine, LogFindings
from studies.evidence.hits import HANDLED, Hit, Hits
from studies.evidence.lines import (
    WINDOW_OVERLAP,
    WINDOWED_FROM,
    Block,
    LineSplitter,
    Piece,
    shown,
    windows_of,
)
from studies.evidence.printed_samples import IN_SAMPLE, PrintedSamples
from studies.evidence.reading import GATE, GATE_IN_SAMPLE, Reading, read_piece
from studies.evidence.rule import Role, Rule
from studies.evidence.surroundings import Surroundings

BEHIND_SAMPLE = "behind a printed sample whose end nothing marks"

_BLOCK_BYTES = 128 * 1024
_ENDS_KEPT = 32 * 1024
_MOST_SOURCES = 256
_MOST_STEPS = 1000
_REGION_BYTES = 128 * 1024
_READ_IN_REGION = 64
_KINDS_IN_REGION = 160
_DIGITS = b"0123456789"
_MOST_REMEMBERED = 2048
_LONGEST_REMEMBERED = 512


@dataclass(eq=False)
class _Source:
    """What is known about one writer of lines."""

    place: Place | None = None
    traceback: int = 0
    """Line of the last beginning of a traceback whose error is still to come, or 0."""
    ignored: bool = False
    announced_handled: bool = False
    chained: bool = False
    last_error: Hit | None = None


class _Steps:
    """The records of the largest steps, and of the one that is required."""

    def __init__(self, required: int | None) -> None:
        self._required = required
        self._smallest: list[int] = []
        self.records: dict[int, EvidenceLine] = {}

    def worth_keeping(self, step: int) -> bool:
        if step in self.records:
            return False
        full = len(self._smallest) >= _MOST_STEPS
        return not full or step > self._smallest[0] or step == self._required

    def keep(self, step: int, line: EvidenceLine) -> None:
        self.records[step] = line
        if step == self._required:
            return
        if len(self._smallest) < _MOST_STEPS:
            heapq.heappush(self._smallest, step)
        else:
            del self.records[heapq.heapreplace(self._smallest, step)]


class LogScanner:
    """Feed it the bytes of a log in chunks of any size, then ask `finish` what they say."""

    def __init__(self, file: str, completion: CompletionRule | None = None) -> None:
        self._file = file
        self._completion = completion or CompletionRule()
        self._own_steps = not self._completion.is_study_trainer
        self._splitter = LineSplitter()
        self._bytes = 0
        self._waiting = bytearray()
        self._around = Surroundings()
        self._steps = _Steps(self._completion.steps)
        self._announced: int | None = None
        self._sources: dict[str, _Source] = {}
        self._hits = Hits()
        self._samples = PrintedSamples(self._hits)
        self._readings: dict[bytes, Reading] = {}
        self._offset = 0
        self._region = -1
        self._read_here = 0
        self._kinds_here: set[bytes] = set()
        self._flooded = -1
        self._floods = 0
        self._long_lines = 0
        self._last_long = 0
        self._long_head: bytes | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._bytes += len(data)
        # Blocks of one size, whatever the chunks are: what counts as a flood must not depend on who reads.
        self._waiting += data
        whole = len(self._waiting) - len(self._waiting) % _BLOCK_BYTES
        for start in range(0, whole, _BLOCK_BYTES):
            self._take_bytes(bytes(self._waiting[start : start + _BLOCK_BYTES]))
        del self._waiting[:whole]

    def _take_bytes(self, data: bytes) -> None:
        for block in self._splitter.feed(data):
            self._take(block)

    def finish(self) -> LogFindings:
        """The findings. Nothing may be fed afterwards."""
        self._take_bytes(bytes(self._waiting))
        for block in self._splitter.finish():
            self._take(block)
        self._hits.place_engine_failures()
        return LogFindings(
            file=self._file,
            line_count=self._splitter.line_count,
            byte_count=self._bytes,
            steps=dict(self._steps.records),
            announced_steps=self._announced,
            candidates=tuple(self._candidate(hit) for hit in self._hits.in_order()),
            tail=tuple((piece.number, shown(piece.data)) for piece in self._around.tail()),
            long_lines=self._long_lines,
            floods=self._floods,
        )

    def _take(self, block: Block) -> None:
        """Read the pieces of a block that can matter."""
        self._around.enter(block)
        if block.window:
            if self._long_head is None:
                self._long_head = block.data[:_ENDS_KEPT]
            self._read_if_it_matters(block.data, 0, len(block.data), block.number, 0)
            self._offset += len(block.data) - WINDOW_OVERLAP
        else:
            if self._long_head is not None:
                self._close_long_piece(block)
            self._read_pieces(block)
            self._offset += len(block.data)

    def _read_pieces(self, block: Block) -> None:
        data, size = block.data, len(block.data)
        position, counted, number, line_end = 0, 0, block.number, -1
        while position < size:
            found = self._next(data, position, size)
            if found is None:
                return
            begin = max(data.rfind(b"\n", position, found), data.rfind(b"\r", position, found)) + 1
            begin = begin or position
            if line_end < found:
                line_end = data.find(b"\n", found)
                line_end = size if line_end < 0 else line_end
            end = data.find(b"\r", found, line_end)
            end = line_end if end < 0 else end
            number += data.count(b"\n", counted, begin)
            counted = begin
            if self._is_flooded(begin):
                position = self._read_kinds(data, begin, number)
                continue
            self._read_whole(data, begin, end, number)
            position = end + 1

    def _read_whole(self, data: bytes, begin: int, end: int, number: int) -> None:
        if end - begin > WINDOWED_FROM:
            self._read_long_piece(data, begin, end, number)
        else:
            self._read(data[begin:end], number, begin)

    # ---- floods: more to read than a log of this size has to say ----------------------------------------

    def _is_flooded(self, begin: int) -> bool:
        """Whether so much was read in this region of the log that only new kinds of lines are read on."""
        region = (self._offset + begin) // _REGION_BYTES
        if region != self._region:
            self._region = region
            self._read_here = 0
            self._kinds_here.clear()
        if self._read_here >= _READ_IN_REGION:
            return True
        self._read_here += 1
        return False

    def _read_kinds(self, data: bytes, begin: int, number: int) -> int:
        """Read from a piece to the end of the region one piece of each kind, and every record of a step.

        Pieces are of one kind if they differ in nothing but digits. Returns where the next piece begins.
        """
        if self._flooded != self._region:
            self._flooded = self._region
            self._floods += 1
        stop = min((self._region + 1) * _REGION_BYTES - self._offset, len(data))
        ends = [end for end in (data.find(b"\n", stop - 1), data.find(b"\r", stop - 1)) if end >= 0]
        stop = min(ends, default=len(data))
        pieces = data[begin:stop].replace(b"\r", b"\n").split(b"\n")
        starts = [begin, *(begin + passed for passed in accumulate(len(piece) + 1 for piece in pieces))]
        kinds = [piece.translate(None, _DIGITS) for piece in pieces]
        first = dict(zip(reversed(kinds), range(len(kinds) - 1, -1, -1), strict=True))
        wanted = {place for kind, place in first.items() if kind not in self._kinds_here}
        self._kinds_here.update(first)
        records = self._records(data, begin, stop, pieces, starts)
        counted = begin
        for place in sorted(wanted | records):
            start, end = starts[place], starts[place + 1] - 1
            if place not in records:
                # A line that could only end a sample counts too, so that one kind is read or not as a whole.
                full = self._read_here >= _READ_IN_REGION + _KINDS_IN_REGION
                if full or GATE_IN_SAMPLE.search(data, start, end) is None:
                    continue
                self._read_here += 1
            number += data.count(b"\n", counted, start)
            counted = start
            self._read_whole(data, start, end, number)
        return stop + 1

    def _records(
        self, data: bytes, begin: int, stop: int, pieces: list[bytes], starts: list[int]
    ) -> set[int]:
        """Places of the pieces that can be the record of a step."""
        if not self._own_steps:
            return {place for place, piece in enumerate(pieces) if piece.find(STUDY_COUNTER) >= 0}
        found, position = set(), begin
        while (match := self._completion.in_block.search(data, position, stop)) is not None:
            place = bisect_right(starts, match.start()) - 1
            found.add(place)
            position = starts[place + 1]
            if position >= stop:
                break
        return found

    def _next(self, data: bytes, start: int, end: int) -> int | None:
        """Where the next piece that can matter shows it."""
        gate = GATE_IN_SAMPLE if self._samples.being_printed else GATE
        found = gate.search(data, start, end)
        place = found.start() if found else None
        if self._own_steps:
            record = self._completion.in_block.search(data, start, end if place is None else place + 1)
            if record is None and place is None:
                return None
            if record is not None:
                return min(record.start(), end if place is None else place)
        return place

    # ---- pieces longer than a window -------------------------------------------------------------------

    def _read_long_piece(self, data: bytes, begin: int, end: int, number: int) -> None:
        for start, stop in windows_of(begin, end):
            self._read_if_it_matters(data, start, stop, number, begin)
        self._read_ends(data[begin : begin + _ENDS_KEPT], data[end - _ENDS_KEPT : end], number)

    def _read_if_it_matters(self, data: bytes, start: int, stop: int, number: int, begin: int) -> None:
        if self._next(data, start, stop) is None:
            return
        if number != self._last_long:
            self._long_lines += 1
            self._last_long = number
        self._read(data[start:stop], number, begin)

    def _close_long_piece(self, block: Block) -> None:
        ends = [end for end in (block.data.find(b"\n"), block.data.find(b"\r")) if end >= 0]
        end = min(ends, default=len(block.data))
        head, self._long_head = self._long_head or b"", None
        self._read_ends(head, block.data[max(0, end - _ENDS_KEPT) : end], block.number)

    def _read_ends(self, head: bytes, tail: bytes, number: int) -> None:
        """A record may begin in the first window of a piece and end in its last."""
        both = head + b" " + tail
        step = self._completion.step_in(both)
        if step is not None:
            self._record_step(step, both, number)

    # ---- one piece -------------------------------------------------------------------------------------

    def _read(self, data: bytes, number: int, begin: int) -> None:
        """Read one piece, or one window into it; it begins at byte `begin` of the block."""
        if self._own_steps or data.find(STUDY_COUNTER) >= 0:
            step = self._completion.step_in(data)
            if step is not None:
                self._record_step(step, data, number)
                return
        reading = self._reading(data)
        if self._samples.take(reading, number):
            if reading.rule is not None and reading.rule.diagnosis is not None:
                hit = self._hit(reading, None, data, number)
                if self._hits.survive(hit, IN_SAMPLE):
                    self._around.keep(hit, begin)
            return
        source = self._source(reading.message.source)
        if reading.traceback:
            source.place = None
            source.traceback = number
        source.place = reading.place or source.place
        if reading.chained:
            source.chained = True
            return
        if reading.ignored:
            source.ignored = True
            return
        if self._announced is None:
            self._announced = reading.planned_steps
        if reading.nothing_fits:
            self._hits.reopen_handled(reading.message.source)
        closed = (
            reading.handled or (reading.no_issue and reading.rule is None)
        ) and self._hits.close_handled(reading.message)
        if reading.rule is not None:
            if not reading.quoted:
                self._judge(reading, source, data, number, begin)
        elif reading.handled and not closed and reading.exhausted:
            source.announced_handled = True

    def _reading(self, data: bytes) -> Reading:
        """What a piece says; of short pieces that come again it is known already."""
        if len(data) > _LONGEST_REMEMBERED:
            return read_piece(data)
        known = self._readings.get(data)
        if known is None:
            if len(self._readings) >= _MOST_REMEMBERED:
                self._readings.clear()
            known = self._readings[data] = read_piece(data)
        return known

    def _source(self, name: str) -> _Source:
        if name not in self._sources and len(self._sources) >= _MOST_SOURCES:
            name = ""
        return self._sources.setdefault(name, _Source())

    def _record_step(self, step: int, data: bytes, number: int) -> None:
        if self._steps.worth_keeping(step):
            self._steps.keep(step, EvidenceLine(self._file, number, shown(data)))
        self._hits.survive_all(f"a step was completed after it (line {number})")
        self._samples.forget()

    def _judge(self, reading: Reading, source: _Source, data: bytes, number: int, begin: int) -> None:
        """Keep a match as what may have ended the run, or as something that it survived."""
        rule, message = reading.rule, reading.message
        assert rule is not None
        why = self._why_survived(reading, source) or self._may_be_an_answer(reading, source)
        root = (source.last_error.root or source.last_error) if source.chained and source.last_error else None
        hit = None if why or root else self._hits.repeats(rule, message.source, message.body)
        if hit is None:
            hit = self._hit(reading, source.place, data, number)
            hit.root = root
            if not why:
                self._hits.keep(hit, message.body)
            if not why or self._hits.survive(hit, why):
                self._around.keep(hit, begin)
        source.chained = False
        source.last_error = hit
        source.place = None
        source.traceback = 0

    def _why_survived(self, reading: Reading, source: _Source) -> str:
        """Why a match can't have ended the run, as far as its own line says, or empty."""
        role = reading.rule.role if reading.rule else None
        if source.ignored and role is Role.ERROR:
            source.ignored = False
            return "raised while objects were being cleaned up"
        announced = source.announced_handled and reading.rule is not None and reading.rule.is_gpu_memory
        if reading.handled or announced:
            source.announced_handled = False
            return HANDLED
        if reading.no_issue and role in (Role.CAUSE, Role.CONSEQUENCE):
            return "says itself that it may be no failure"
        if reading.message.level == "WARNING" and role in (Role.CAUSE, Role.ERROR):
            return "logged as a warning"
        return ""

    def _may_be_an_answer(self, reading: Reading, source: _Source) -> str:
        """Why a match must not resolve a slot, where a sample was left without its closing mark, or empty.

        What raised a traceback behind that place is believed. A bare line there is not: it leaves a slot
        unresolved at worst, and believing it could resolve one by the words of a model.
        """
        if reading.rule is None or not reading.rule.is_gpu_memory:
            return ""
        return BEHIND_SAMPLE if source.traceback <= self._samples.doubtful_until(reading.message) > 0 else ""

    def _hit(self, reading: Reading, place: Place | None, data: bytes, number: int) -> Hit:
        rule = reading.rule
        assert rule is not None
        assert rule.diagnosis is not None
        behind = len(data) - len(reading.message.body)
        return Hit(
            rule=rule,
            diagnosis=_placed(rule, rule.diagnosis, place),
            writer=reading.message.writer,
            source=reading.message.source,
            number=number,
            text=shown(data, behind + reading.position),
            place=place,
        )

    def _candidate(self, hit: Hit) -> Candidate:
        assert hit.rule.diagnosis is not None
        around = [*hit.before, Piece(hit.number, hit.text.encode()), *hit.after]
        context = tuple((item.number, shown(item.data)) for item in around)
        return Candidate(
            hit.diagnosis,
            hit.rule.role,
            hit.rule.name,
            EvidenceLine(self._file, hit.number, hit.text, context),
            hit.count,
            hit.survived,
        )


def _placed(rule: Rule, diagnosis: Diagnosis, place: Place | None) -> Diagnosis:
    """The diagnosis of a rule where its traceback leads."""
    if rule.host_if_pinned and place is Place.PINNED_HOST_MEMORY:
        return Diagnosis.HOST_MEMORY
    if rule.by_place and place is Place.GENERATION_START:
        return Diagnosis.ROLLOUT_INIT_MEMORY
    if rule.by_place and place is Place.WEIGHT_SYNC:
        return Diagnosis.WEIGHT_SYNC_OOM
    return diagnosis


def scan_log(chunks: Iterable[bytes], file: str, completion: CompletionRule | None = None) -> LogFindings:
    """The findings of one log, from its bytes in chunks of any size."""
    scanner = LogScanner(file, completion)
    for chunk in chunks:
        scanner.feed(chunk)
    return scanner.finish()
