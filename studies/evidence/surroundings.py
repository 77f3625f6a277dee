"""The lines around a match, and the last lines of a log, without keeping the others."""

from __future__ import annotations

from collections import deque
from itertools import islice

from studies.evidence.hits import Hit
from studies.evidence.lines import LONGEST_KEPT, Block, Piece, pieces_after, pieces_before

TAIL_LINES = 40
CONTEXT_LINES = 2
"""Lines kept before and after a line of evidence."""


class Surroundings:
    """Shown every block in turn; of a piece longer than a window it keeps the beginning."""

    def __init__(self) -> None:
        self._blocks: deque[Block] = deque()
        self._now = Block(b"", 1)
        self._shift = 0
        self._in_long_piece = False
        self._waiting: list[Hit] = []

    def enter(self, block: Block) -> None:
        """The block that is read from now on."""
        if self._now.data:
            self._blocks.append(self._now)
            self._forget()
        self._shift = 0
        if block.window:
            kept = b"" if self._in_long_piece else block.data[:LONGEST_KEPT] + b"\r"
            self._in_long_piece = True
            self._now = Block(kept, block.number)
        elif self._in_long_piece:
            self._in_long_piece = False
            ends = [end for end in (block.data.find(b"\n"), block.data.find(b"\r")) if end >= 0]
            self._shift = min(ends, default=len(block.data))
            # What closes the long piece stays, so that the count of lines goes on.
            self._now = Block(block.data[self._shift :], block.number)
        else:
            self._now = block
        if self._waiting:
            self._waiting = [hit for hit in self._waiting if not self._follow(hit)]

    def keep(self, hit: Hit, begin: int) -> None:
        """Give a match in the present block, whose piece begins at byte `begin`, the lines around it."""
        data, begin = self._now.data, max(0, begin - self._shift)
        line = data.rfind(b"\n", 0, begin) + 1
        before = list(islice(pieces_before(data, line - 1, hit.number - 1), CONTEXT_LINES))
        for block in reversed(self._blocks):
            if len(before) >= CONTEXT_LINES:
                break
            earlier = (piece for piece in _backwards(block) if piece.number < hit.number)
            before.extend(islice(earlier, CONTEXT_LINES - len(before)))
        hit.before = before[::-1]
        close = data.find(b"\n", begin)
        if close >= 0:
            hit.after = list(islice(pieces_after(data, close + 1, hit.number + 1), CONTEXT_LINES))
        if len(hit.after) < CONTEXT_LINES:
            self._waiting.append(hit)

    def tail(self) -> list[Piece]:
        """The last pieces, numbered."""
        found: list[Piece] = []
        for block in (self._now, *reversed(self._blocks)):
            found.extend(islice(_backwards(block), TAIL_LINES - len(found)))
        return found[::-1]

    def _follow(self, hit: Hit) -> bool:
        """Add what follows a match in the present block. Returns whether that is all."""
        data, number, start = self._now.data, self._now.number, 0
        if number <= hit.number:
            start = data.find(b"\n") + 1
            if not start:
                return False
            number += 1
        hit.after.extend(islice(pieces_after(data, start, number), CONTEXT_LINES - len(hit.after)))
        return len(hit.after) >= CONTEXT_LINES

    def _forget(self) -> None:
        """Keep as many blocks as the tail needs."""
        pieces = 0
        for kept, block in enumerate(reversed(self._blocks), start=1):
            pieces += max(block.data.count(b"\n"), block.data.count(b"\r"))
            if pieces > TAIL_LINES:
                while len(self._blocks) > kept:
                    self._blocks.popleft()
                return


def _backwards(block: Block) -> list[Piece]:
    """The pieces of a whole block, the last one first; as many as anybody needs."""
    data = block.data
    closed = data.endswith((b"\n", b"\r"))
    number = block.number + data.count(b"\n") - data.endswith(b"\n")
    return list(islice(pieces_before(data, len(data) - closed, number), TAIL_LINES)) if data else []
