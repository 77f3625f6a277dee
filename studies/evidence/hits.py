"""The matches of one log that may have ended the run, and those that it survived, in bounded memory.

For each rule and writer only the first match since the last completed step is kept, with a count of the
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from studies.evidence.context import ENGINE_SOURCE, Place, allocation_named_in, process_named_in
from studies.evidence.diagnoses import Diagnosis
from studies.evidence.lines import Message, Piece
from studies.evidence.rule import Role, Rule

HANDLED = "reported as handled"

_MOST_OPEN = 1024
_MOST_ERRORS = 200
_DRIVERS = ("TaskRunner", "main_task")


@dataclass(eq=False)
class Hit:
    """One match: where it stands, and what became of it."""

    rule: Rule
    diagnosis: Diagnosis
    writer: str
    source: str
    number: int
    text: str
    before: list[Piece] = field(default_factory=list)
    after: list[Piece] = field(default_factory=list)
    place: Place | None = None
    count: int = 1
    root: Hit | None = None
    survived: str = ""


class Hits:
    """Matches by what became of them."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Hit] = {}
        self._errors: dict[bytes, Hit] = {}
        self._survived: dict[tuple[str, Diagnosis], Hit] = {}
        self._handled: dict[str, Hit] = {}

    def repeats(self, rule: Rule, source: str, body: bytes) -> Hit | None:
        """The match that this one repeats, counted once more; None if it is new."""
        if rule.role is Role.ERROR:
            key = _error_key(body)
            known = self._errors.pop(key, None)
            if known is not None:
                self._errors[key] = known
        else:
            known = self._open.get((rule.name, source))
        if known is not None:
            known.count += 1
        return known

    def keep(self, hit: Hit, body: bytes) -> None:
        """Something new that may have ended the run: an exception, or what ends it unless it is handled."""
        if hit.rule.role is Role.ERROR:
            key = _error_key(body)
            error = self._errors.pop(key, hit)
            if error is not hit:
                error.count += 1
                error.root = error.root or hit.root
            self._errors[key] = error
            if len(self._errors) > _MOST_ERRORS:
                del self._errors[next(iter(self._errors))]
            return
        if hit.rule.name == "nccl_host_buffer":
            # NCCL prints the failed call first, and only now which memory it was about.
            called = self._open.get(("nccl_cuda_failure", hit.source))
            if called:
                called.diagnosis = Diagnosis.HOST_MEMORY
        known = self._open.get((hit.rule.name, hit.source))
        if known is not None:
            known.count += 1
        elif len(self._open) < _MOST_OPEN:
            self._open[hit.rule.name, hit.source] = hit

    def survive(self, hit: Hit, why: str) -> bool:
        """It can't have ended the run, for this reason. Returns whether it is kept, not only counted."""
        hit.survived = hit.survived or why
        known = self._survived.setdefault((hit.rule.name, hit.diagnosis), hit)
        if why == HANDLED:
            if hit.source in self._handled or len(self._handled) < _MOST_OPEN:
                self._handled[hit.source] = hit
            return True
        if known is not hit:
            known.count += hit.count
        return known is hit

    def survive_all(self, why: str) -> None:
        """The run went on behind everything that was found so far."""
        for hit in (*self._open.values(), *self._errors.values()):
            self.survive(hit, why)
        self._open.clear()
        self._errors.clear()
        self._handled.clear()

    def survive_since(self, number: int, writer: str, why: str) -> None:
        """What a writer printed from a line on was nothing that happened to it."""
        recent = []
        for key, hit in reversed(self._open.items()):
            if hit.number < number:
                break
            if hit.writer == writer:
                recent.append(key)
        for key in recent:
            self.survive(self._open.pop(key), why)
        for text in [
            key for key, hit in self._errors.items() if hit.number >= number and hit.writer == writer
        ]:
            self.survive(self._errors.pop(text), why)

    def close_handled(self, message: Message) -> bool:
        """A line says that an exhaustion was dealt with: the one that it names is over.

        It names the process, by its own prefix or by a number in its text, and the allocation, if it says a
        size. The driver of a Ray program speaks of its workers. Returns whether there were any.
        """
        named, size = process_named_in(message.body), allocation_named_in(message.body)
        closed = False
        for key, hit in list(self._open.items()):
            if not hit.diagnosis.is_gpu_memory or not _speaks_of(message, hit, named):
                continue
            asked = allocation_named_in(hit.text.encode()) if size else None
            if asked is not None and asked != size:
                continue
            self.survive(self._open.pop(key), HANDLED)
            closed = True
        return closed

    def reopen_handled(self, source: str) -> None:
        """What a process did about its exhaustion came to nothing: the last one ended it after all."""
        hit = self._handled.pop(source, None)
        if hit is None:
            return
        key = (hit.rule.name, hit.diagnosis)
        if self._survived.get(key) is hit:
            del self._survived[key]
        hit.survived = ""
        self._open.setdefault((hit.rule.name, hit.source), hit)

    def place_engine_failures(self) -> None:
        """An exhaustion inside an engine process that then failed to start belongs to its start-up."""
        if not any(name == "engine_start_failed" for name, _ in self._open):
            return
        for hit in self._open.values():
            if hit.rule.by_place and hit.place is None and ENGINE_SOURCE.search(hit.source.encode()):
                hit.diagnosis = Diagnosis.ROLLOUT_INIT_MEMORY

    def in_order(self) -> Iterator[Hit]:
        """Every match that is left, in the order of the log; of the exceptions all but one are survived."""
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
        yield from sorted(distinct, key=lambda hit: hit.number)


def _error_key(body: bytes) -> bytes:
    return body[:200].strip()


def _speaks_of(message: Message, hit: Hit, named: bytes | None) -> bool:
    """Whether a line can be about the process that a match comes from."""
    if named is not None:
        own = process_named_in(hit.source.encode()) or process_named_in(hit.text.encode())
        if own is not None and own != named:
            return False
    if hit.source == message.source:
        return True
    driver = not message.source or message.source.startswith(_DRIVERS)
    return driver and "pid=" in hit.source
