"""Which writers of a log are printing a sample, so that a model's words are never read as the program's.

A sample begins with a label, a token of a chat template or a code fence, and lasts until its closing mark or
its writer's next own line (``quotations`` tells them). A line of another process can look like the latter and
stand in the middle of an answer; what comes behind it is doubtful until a step is completed or the closing
mark follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from studies.evidence.hits import Hits
from studies.evidence.lines import Message
from studies.evidence.quotations import Mark
from studies.evidence.reading import Reading

IN_SAMPLE = "inside a printed sample"
_MOST_WRITERS = 256


@dataclass(frozen=True)
class _Left:
    """A sample that a line ended which looked like the program's own."""

    since: int
    ended: int
    fenced: bool


class PrintedSamples:
    """The samples that are open, and those that were left without a closing mark."""

    def __init__(self, hits: Hits) -> None:
        self._hits = hits
        self._since: dict[str, int] = {}
        self._fenced: set[str] = set()
        self._left: dict[str, _Left] = {}
        self._last_writer = ""

    @property
    def being_printed(self) -> bool:
        """Whether any writer is printing one."""
        return bool(self._since)

    def forget(self) -> None:
        """A step was completed: whatever was printed before it is over."""
        self._since.clear()
        self._fenced.clear()
        self._left.clear()

    def doubtful_until(self, message: Message) -> int:
        """The last line from which on a message may still be part of an answer, or 0."""
        if message.writer:
            left = self._left.get(message.writer)
            return left.ended if left else 0
        if message.stamped or message.level:
            return 0
        # Some collectors name the writer of an answer's first line only.
        ends = [left.ended for left in self._left.values()]
        return max((*self._since.values(), *ends), default=0)

    def take(self, reading: Reading, number: int) -> bool:
        """Whether the piece at this line is part of a sample, after what it does to it."""
        if not (self._since or reading.mark or reading.fence):
            return False
        owner = self._owner_of(reading.message)
        opened, left = self._since.get(owner), self._left.get(owner)
        if reading.fence and (opened is None or owner in self._fenced):
            self._fence(owner, number)
            return True
        if reading.mark is Mark.CLOSES:
            since = opened if opened is not None else left.since if left else None
            self._close(owner, since)
            return opened is not None
        if reading.mark is Mark.OPENS:
            if opened is None:
                self._open(owner, number)
            return True
        if opened is None:
            return False
        own = bool(reading.message.stamped or reading.message.level or reading.mark is Mark.OWN)
        if own:
            self._left[owner] = _Left(opened, number, owner in self._fenced)
            self._end(owner)
        return not own

    def _owner_of(self, message: Message) -> str:
        if message.writer:
            self._last_writer = message.writer
        elif not message.stamped and not message.level and self._last_writer in self._since:
            return self._last_writer
        return message.writer

    def _fence(self, owner: str, number: int) -> None:
        left = self._left.get(owner)
        if owner in self._since:
            self._end(owner)
        elif left is not None and left.fenced:
            self._close(owner, left.since)
        else:
            self._open(owner, number)
            self._fenced.add(owner)

    def _open(self, owner: str, number: int) -> None:
        if len(self._since) < _MOST_WRITERS:
            self._since[owner] = number
            self._left.pop(owner, None)

    def _close(self, owner: str, since: int | None) -> None:
        if since is not None:
            self._hits.survive_since(since, owner, IN_SAMPLE)
        self._left.pop(owner, None)
        self._end(owner)

    def _end(self, owner: str) -> None:
        self._since.pop(owner, None)
        self._fenced.discard(owner)
