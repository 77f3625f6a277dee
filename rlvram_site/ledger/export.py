"""A ledger as JSON lines, for a reader who has neither the site nor its database (docs/ledger-format.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rlvram_site.ledger.canonical import canonical, canonical_json
from rlvram_site.ledger.models import LedgerStream
from rlvram_site.ledger.verify import linked_rows

FORMAT = "rlvram-ledger/1"


def export_lines(streams: Iterable[LedgerStream]) -> Iterator[str]:
    """The export line by line, without line ends: its form first, then each link with its row.

    Evidence is in it as the hashes and sizes that rows hold; bytes of files are in no row. Raises
    ``ValueError`` for a link whose row is gone or can no longer be read.
    """
    chosen = list(streams)
    yield canonical_json({"format": FORMAT, "streams": [stream.name for stream in chosen]})
    for stream in chosen:
        for link, row in linked_rows(stream):
            if row is None:
                raise ValueError(
                    f"{stream.name}, link {link.sequence}: {link.record_type} {link.record_id} can't be read"
                )
            yield canonical_json(
                {
                    "stream": stream.name,
                    "sequence": link.sequence,
                    "record_type": link.record_type,
                    "record_id": link.record_id,
                    "payload_sha256": link.payload_sha256,
                    "previous_sha256": link.previous_sha256,
                    "sha256": link.sha256,
                    "actor": link.actor,
                    "recorded_at": link.recorded_at,
                    "row": canonical(row.ledger_payload()),
                }
            )
