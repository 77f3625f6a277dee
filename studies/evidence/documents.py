"""Reads the small JSON documents of a run by the strict reader, limited in size and in number of values."""

from __future__ import annotations

from collections.abc import Iterable

from rlvram_site.strict_json import read_json
from studies.evidence.errors import EvidenceError

MOST_BYTES = 4 << 20
MOST_ITEMS = 100_000
MOST_DEPTH = 64
"""Limits of one document. Those of real runs hold a few hundred values and four levels."""


def read_document(chunks: Iterable[bytes], name: str) -> object:
    """The document in these bytes.

    Raises:
        EvidenceError: larger than a document may be; it names the file and the limit.
        JsonError: no JSON, or deeper or with longer numbers than anybody writes.
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
    return read_json(data, max_depth=MOST_DEPTH)
