"""Reads the small JSON documents of a run within limits on size, depth, number of items and digits."""

from __future__ import annotations

import json
from collections.abc import Iterable

from studies.evidence.errors import EvidenceError

MOST_BYTES = 4 << 20
MOST_ITEMS = 100_000
MOST_DEPTH = 64
MOST_DIGITS = 40
"""Limits of one document. Those of real runs hold a few hundred values and four levels."""


SIZE_FIELDS = ("size", "number of items")
"""Fields of an error that mean that the document is too large, not only odd."""


def read_document(chunks: Iterable[bytes], name: str) -> object:
    """The document in these bytes.

    Raises:
        EvidenceError: beyond one of the limits; it names the file and the limit.
        ValueError: no JSON.
    """
    parts, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        if size > MOST_BYTES:
            raise EvidenceError(
                name, "size", f"over {MOST_BYTES} bytes", f"at most {MOST_BYTES} bytes of JSON"
            )
        parts.append(chunk)
    data = b"".join(parts)
    # Counted before anything is built: a nested list takes a thousand times the bytes of its text.
    items = data.count(b",") + data.count(b"[") + data.count(b"{")
    if items > MOST_ITEMS:
        raise EvidenceError(name, "number of items", items, f"at most {MOST_ITEMS} values in one document")

    def whole(digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            expected = f"at most {MOST_DIGITS} digits in a number"
            raise EvidenceError(name, "number", f"{len(digits)} digits", expected)
        return int(digits)

    try:
        document = json.loads(data.decode("utf-8-sig"), parse_int=whole)
    except RecursionError:
        raise EvidenceError(name, "depth", "too deep to read", _DEPTH) from None
    level = [document]
    for _ in range(MOST_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return document
    raise EvidenceError(name, "depth", f"over {MOST_DEPTH}", _DEPTH)


_DEPTH = f"at most {MOST_DEPTH} levels of lists and objects"


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
