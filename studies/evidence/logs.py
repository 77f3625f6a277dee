"""Reads one log as a stream and keeps what can decide: causes, errors, step records and the tail.

Memory does not grow with the log. For each rule and writer only the first match since the last completed
step is kept, with a count of the others.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from studies.evidence.completion import STUDY_STEP_PATTERN, CompletionRule
from studies.evidence.context import (
    ENGINE_SOURCE,
    Place,
    is_advice,
    is_quotation,
    place_of,
    says_exhausted,
    says_handled,
)
from studies.evidence.diagnoses import Diagnosis
from studies.evidence.findings import Candidate, EvidenceLine, LogFindings
from studies.evidence.lines import LineSplitter, Message, Piece, message_of, shown, text_of
from studies.evidence.rule import Role, Rule
from studies.evidence.rules import RULES

TAIL_LINES = 40
CONTEXT_LINES = 2
"""Lines kept before and after a line of evidence."""

_BLOCK_BYTES = 128 * 1024
_LONGEST_KEPT = 4096
_MOST_SOURCES = 256
_MOST_ERRORS = 200
_MOST_STEPS = 10_000

# One of these stands in every line that reports an exhaustion as dealt with.
_HANDLING = (
    b"retry", b"skipp", b"reduc", b"decreas", b"recover", b"halving", b"falling back", b"ignoring",
    b"batch size", b"continuing",
)  # fmt: skip

_STRUCTURE = (
    b"traceback (most recent", b"file \"", b"pin_memory", b"exception", b"atexit", b"training steps",
    b"step:",
)  # fmt: skip


def _shortest(texts: Iterable[bytes]) -> tuple[bytes, ...]:
    """The texts without those that contain another one."""
    kept: list[bytes] = []
    for text in sorted(set(texts), key=lambda text: (len(text), text)):
        if not any(other in text for other in kept):
            kept.append(text)
    return tuple(kept)


# A line without any of these can't matter: every key of every rule contains one. The short words at the
# front take the place of many keys, so that a log of gigabytes is asked few questions a line.
_COMMON = (
    b"error", b"memory", b"out of", b"out_of", b"kill", b"alloc", b"illegal", b"invalid", b"fail", b"exce",
    b"sig", b"abort", b"cuda", b"nccl", b"exit", b"oom", b"gpu", b"timed out", b"too ", b"enginecore ",
    b"no ", b"engine ", b"ed by", b"reset", b"arguments", b"avail", b"terminate", b"shared", b"driver",
    b"assert",
)  # fmt: skip
_KEYED = tuple((key, rule) for rule in RULES for key in rule.keys)
_NEEDLES = _shortest([*_COMMON, *_STRUCTURE, *_HANDLING, *(key.encode() for key, _ in _KEYED)])

_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_PLANNED_STEPS = re.compile(r"^Total training steps: (\d{1,9})\s*$")


@dataclass(eq=False)
class _Hit:
    rule: Rule
    diagnosis: Diagnosis
    source: str
    number: int
    text: str
    before: list[Piece]
    after: list[Piece] = field(default_factory=list)
    place: Place | None = None
    count: int = 1
    last: int = 0
    root: _Hit | None = None
    survived: str = ""


@dataclass(eq=False)
class _Source:
    """What is known about one writer of lines."""

    place: Place | None = None
    ignored: bool = False
    announced_handled: bool = False
    chained: bool = False
    last_error: _Hit | None = None


class LogScanner:
    """Feed it the bytes of a log in chunks of any size, then ask `finish` what they say."""

    def __init__(self, file: str, completion: CompletionRule | None = None) -> None:
        self._file = file
        self._completion = completion or CompletionRule()
        self._any_line_may_be_a_step = self._completion.pattern != STUDY_STEP_PATTERN
        self._splitter = LineSplitter()
        self._bytes = 0
        self._tail: deque[Piece] = deque(maxlen=TAIL_LINES)
        self._steps: dict[int, EvidenceLine] = {}
        self._announced: int | None = None
        self._sources: dict[str, _Source] = {}
        self._open: dict[tuple[str, str], _Hit] = {}
        self._errors: dict[str, _Hit] = {}
        self._survived: dict[tuple[str, Diagnosis], _Hit] = {}
        self._waiting: list[_Hit] = []

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._bytes += len(data)
        for start in range(0, len(data), _BLOCK_BYTES):
            self._take(list(self._splitter.feed(data[start : start + _BLOCK_BYTES])))

    def finish(self) -> LogFindings:
        """The findings. Nothing may be fed afterwards."""
        self._take(list(self._splitter.finish()))
        self._place_engine_failures()
        return LogFindings(
            file=self._file,
            line_count=self._splitter.line_count,
            byte_count=self._bytes,
            steps=dict(self._steps),
            announced_steps=self._announced,
            candidates=self._candidates(),
            tail=tuple((piece.number, shown(text_of(piece.data[:_LONGEST_KEPT]))) for piece in self._tail),
        )

    def _take(self, pieces: list[Piece]) -> None:
        """Read the pieces that can matter. What no piece of the block contains, none of them is asked for."""
        block = b"\n".join([piece.data for piece in pieces]).lower()
        needles = [needle for needle in _NEEDLES if needle in block]
        for piece in pieces:
            if self._waiting:
                self._continue_contexts(piece)
            if needles or self._any_line_may_be_a_step:
                lowered = piece.data.lower()
                for needle in needles:
                    if needle in lowered:
                        self._read(piece, lowered)
                        break
                else:
                    if self._any_line_may_be_a_step:
                        self._read(piece, lowered)
            self._tail.append(piece)

    def _read(self, piece: Piece, lowered: bytes) -> None:
        text = text_of(piece.data)
        message = message_of(text)
        if (self._any_line_may_be_a_step or b"step:" in lowered) and self._record_step(piece, text):
            return
        source = self._source(message.source)
        if b"traceback (most recent call last)" in lowered:
            source.place = None
        elif b'file "' in lowered or b"pin_memory" in lowered:
            source.place = place_of(message.body) or source.place
        if b"exception" in lowered or b"atexit" in lowered:
            if any(chain in message.body for chain in _CHAINED):
                source.chained = True
                return
            if message.body.startswith(("Exception ignored in", "Error in atexit")):
                source.ignored = True
                return
        if self._announced is None and b"training steps" in lowered:
            planned = _PLANNED_STEPS.match(message.body)
            self._announced = int(planned[1]) if planned else None
        handled = any(word in lowered for word in _HANDLING) and says_handled(message.body)
        closed = handled and self._close_handled(message)
        hit = self._match(piece, message, source, handled)
        if handled and not closed and hit is None and says_exhausted(message.body):
            source.announced_handled = True

    def _source(self, name: str) -> _Source:
        if name not in self._sources and len(self._sources) >= _MOST_SOURCES:
            name = ""
        return self._sources.setdefault(name, _Source())

    def _record_step(self, piece: Piece, text: str) -> bool:
        step = self._completion.step_in(text)
        if step is None:
            return False
        if step not in self._steps:
            if len(self._steps) >= _MOST_STEPS:
                del self._steps[min(self._steps)]
            self._steps[step] = EvidenceLine(self._file, piece.number, shown(text))
        for hit in (*self._open.values(), *self._errors.values()):
            self._survive(hit, f"a step was completed after it (line {piece.number})")
        self._open.clear()
        self._errors.clear()
        return True

    def _survive(self, hit: _Hit, why: str) -> None:
        hit.survived = hit.survived or why
        known = self._survived.setdefault((hit.rule.name, hit.diagnosis), hit)
        if known is not hit:
            known.count += hit.count

    def _close_handled(self, message: Message) -> bool:
        """The line says that an exhaustion was dealt with: the ones its writer printed before are over.

        Returns whether there were any.
        """
        closed = False
        for key, hit in list(self._open.items()):
            driver = not message.source or message.source.startswith(("TaskRunner", "main_task"))
            if hit.diagnosis.is_gpu_memory and (driver or hit.source == message.source):
                self._survive(self._open.pop(key), "reported as handled")
                closed = True
        return closed

    def _match(self, piece: Piece, message: Message, source: _Source, handled: bool) -> _Hit | None:
        body = message.body
        lowered = body.lower()
        for key, rule in _KEYED:
            if key not in lowered:
                continue
            match = rule.pattern.search(body)
            if match is None:
                continue
            position = match.start()
            if rule.diagnosis is None or is_quotation(body, position) or is_advice(body[:position]):
                return None
            return self._hit(piece, message, source, rule, position, handled)
        return None

    def _hit(
        self, piece: Piece, message: Message, source: _Source, rule: Rule, position: int, handled: bool
    ) -> _Hit:
        assert rule.diagnosis is not None
        hit = _Hit(
            rule=rule,
            diagnosis=_placed(rule, rule.diagnosis, source.place),
            source=message.source,
            number=piece.number,
            text=shown(text_of(piece.data), position),
            before=[item for item in list(self._tail)[-CONTEXT_LINES:] if item.number < piece.number],
            place=source.place,
            last=piece.number,
        )
        self._waiting.append(hit)
        if source.chained and source.last_error:
            hit.root = source.last_error.root or source.last_error
        source.chained = False
        source.last_error = hit
        source.place = None
        if source.ignored and rule.role is Role.ERROR:
            source.ignored = False
            self._survive(hit, "raised while objects were being cleaned up")
        elif handled or (source.announced_handled and hit.diagnosis.is_gpu_memory):
            source.announced_handled = False
            self._survive(hit, "reported as handled")
        elif message.level == "WARNING" and rule.role in (Role.CAUSE, Role.ERROR):
            self._survive(hit, "logged as a warning")
        elif rule.role is Role.ERROR:
            self._keep_error(hit, message.body)
        else:
            self._keep(hit)
        return hit

    def _keep(self, hit: _Hit) -> None:
        if hit.rule.name == "nccl_host_buffer":
            # NCCL prints the failed call first, and only now which memory it was about.
            called = self._open.get(("nccl_cuda_failure", hit.source))
            if called:
                called.diagnosis = Diagnosis.HOST_MEMORY
        known = self._open.setdefault((hit.rule.name, hit.source), hit)
        if known is not hit:
            known.count += 1
        elif len(self._open) > _MOST_SOURCES * 4:
            del self._open[next(reversed(self._open))]

    def _keep_error(self, hit: _Hit, body: str) -> None:
        key = body[:200].strip()
        known = self._errors.pop(key, hit)
        if known is not hit:
            known.count += 1
            known.last = hit.number
        self._errors[key] = known
        if len(self._errors) > _MOST_ERRORS:
            del self._errors[next(iter(self._errors))]

    def _continue_contexts(self, piece: Piece) -> None:
        for hit in self._waiting:
            if piece.number > hit.number and len(hit.after) < CONTEXT_LINES:
                hit.after.append(Piece(piece.number, piece.data[:_LONGEST_KEPT]))
        self._waiting = [hit for hit in self._waiting if len(hit.after) < CONTEXT_LINES]

    def _place_engine_failures(self) -> None:
        """An exhaustion inside an engine process that then failed to start belongs to its start-up."""
        if not any(name == "engine_start_failed" for name, _ in self._open):
            return
        for hit in self._open.values():
            if hit.rule.by_place and hit.place is None and ENGINE_SOURCE.search(hit.source):
                hit.diagnosis = Diagnosis.ROLLOUT_INIT_MEMORY

    def _candidates(self) -> tuple[Candidate, ...]:
        hits = [*self._open.values(), *self._survived.values()]
        errors = list(self._errors.values())
        if errors:
            ending = errors[-1]
            if ending.root and ending.root.rule.role is Role.ERROR and not ending.root.survived:
                ending = ending.root
            for hit in errors:
                if hit is not ending:
                    before = hit.number < ending.number
                    hit.survived = "other errors followed" if before else "followed from another"
            hits.extend([*errors, ending])
        distinct = {id(hit): hit for hit in hits}.values()
        return tuple(self._candidate(hit) for hit in sorted(distinct, key=lambda hit: hit.number))

    def _candidate(self, hit: _Hit) -> Candidate:
        around = [*hit.before, Piece(hit.number, hit.text.encode()), *hit.after]
        context = tuple((item.number, shown(text_of(item.data))) for item in around)
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
