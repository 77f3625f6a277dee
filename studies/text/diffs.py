"""What a changed value lost and gained, word by word or item by item."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["same", "removed", "added"]


@dataclass(frozen=True)
class DiffPiece:
    """A run of text that stayed, went or came."""

    kind: Kind
    text: str


def text_diff(before: str, after: str) -> list[DiffPiece]:
    """The words of both texts in order, what went before what came."""
    old, new = re.findall(r"\s*\S+", before), re.findall(r"\s*\S+", after)
    return _pieces(old, new, "")


def list_diff(before: Sequence[Any], after: Sequence[Any]) -> list[DiffPiece]:
    """The items of both lists in order, one piece each."""
    old, new = [_spelled(item) for item in before], [_spelled(item) for item in after]
    pieces: list[DiffPiece] = []
    for piece, items in _runs(old, new):
        pieces += [DiffPiece(piece, item) for item in items]
    return pieces


def value_diff(before: Any, after: Any) -> list[DiffPiece]:
    """A diff by items for two lists, by words for two texts, else the whole value before and after.

    ``before`` is None for a key that was not there.
    """
    if isinstance(before, list) and isinstance(after, list):
        return list_diff(before, after)
    if isinstance(before, str) and isinstance(after, str):
        return text_diff(before, after)
    pieces = [] if before is None else [DiffPiece("removed", _spelled(before))]
    return [*pieces, DiffPiece("added", _spelled(after))]


def _pieces(old: list[str], new: list[str], glue: str) -> list[DiffPiece]:
    return [DiffPiece(kind, glue.join(words)) for kind, words in _runs(old, new)]


def _runs(old: list[str], new: list[str]) -> list[tuple[Kind, list[str]]]:
    runs: list[tuple[Kind, list[str]]] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            runs.append(("same", old[a:b]))
            continue
        if b > a:
            runs.append(("removed", old[a:b]))
        if d > c:
            runs.append(("added", new[c:d]))
    return runs


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
