"""What a seal binds: digests over all rows that it rests on, which a reader of the ledger can recompute.

Each digest covers the row digests (``payload_sha256``) of one kind of row in one stream, up to the end of
that stream as it was when the seal was made. `docs/ledger-format.md` has the same in full.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from host.version import product_version
from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import head
from rlvram_site.ledger.models import LedgerEntry
from studies.models import Seal, Study

FORMAT = "rlvram-seal/2"
STUDY_ROWS = (
    ("configurations", "studies.configuration"),
    ("slots and pairs", "studies.seedslot"),
    ("protocol", "studies.protocol"),
    ("amendments", "studies.amendment"),
    ("fitted parameters", "studies.fittedmodel"),
    ("prediction sets", "studies.predictionset"),
    ("predictions", "studies.prediction"),
)
POOL_ROWS = (
    ("architectures", "studies.modelarchitecture"),
    ("pool configurations", "studies.configuration"),
    ("pool outcomes", "studies.pooloutcome"),
)
_RULES = Path(__file__).resolve().parents[2] / "estimation"


def binding(study: Study) -> dict[str, Any]:
    """What a seal of ``study`` binds now: the code, the end of each stream, and the rows up to there.

    The caller holds the study's stream. A follow-up's fitted parameters are its parent's.
    """
    streams = [study.stream]
    rows = list(_rows(study.stream, STUDY_ROWS))
    if study.pool is not None:
        streams.append(study.pool.stream)
        rows += _rows(study.pool.stream, POOL_ROWS)
    if study.parent is not None:
        streams.append(study.parent.stream)
        rows += [
            {**row, "name": f"{row['name']} of the parent"} for row in _rows(study.parent.stream, STUDY_ROWS)
        ]
    return {
        "format": FORMAT,
        "code": {"version": product_version(), "estimation_sha256": code_sha256()},
        "heads": [
            {"stream": end.stream, "sequence": end.sequence, "sha256": end.sha256}
            for end in map(head, streams)
        ],
        "rows": rows,
    }


def _rows(stream: str, kinds: tuple[tuple[str, str], ...]) -> Iterator[dict[str, Any]]:
    for name, record_type in kinds:
        digests = list(
            LedgerEntry.objects.filter(stream__name=stream, record_type=record_type)
            .order_by("sequence")
            .values_list("payload_sha256", flat=True)
        )
        yield {
            "name": name,
            "stream": stream,
            "record_type": record_type,
            "rows": len(digests),
            "sha256": digest(digests),
        }


@cache
def code_sha256() -> str:
    """sha256 over the names and bytes of the files that state the rules and the methods."""
    files = {
        path.relative_to(_RULES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(_RULES.rglob("*.py"))
    }
    return digest(files)


def seal_sha256(seal: Seal) -> str:
    """The digest that a seal made here must have, from what its row says."""
    content = {
        "protocol_sha256": seal.protocol_sha256,
        "amendments_sha256": seal.amendments_sha256,
        "input_sha256": seal.input_sha256,
        "output_sha256": seal.output_sha256,
        "sealed_at": seal.sealed_at,
    }
    return digest(content if seal.bound is None else {**content, "bound": seal.bound})


def problems(seal: Seal) -> list[str]:
    """What the ledger no longer has as the seal binds it, one sentence each; empty for an unbroken seal.

    Only a seal that was made here can be checked so: one from an archive is the digest of the archive's file.
    """
    found = []
    if seal_sha256(seal) != seal.sha256:
        found.append("the seal's own sha256 is not that of what it says")
    bound = seal.bound or {"heads": [], "rows": []}
    ends = {end["stream"]: end for end in bound["heads"]}
    for end in bound["heads"]:
        link = LedgerEntry.objects.filter(stream__name=end["stream"], sequence=end["sequence"]).first()
        if end["sequence"] and (link is None or link.sha256 != end["sha256"]):
            found.append(f"link {end['sequence']} of {end['stream']} is not the one that was sealed")
    for row in bound["rows"]:
        digests = list(
            LedgerEntry.objects.filter(
                stream__name=row["stream"],
                record_type=row["record_type"],
                sequence__lte=ends[row["stream"]]["sequence"],
            )
            .order_by("sequence")
            .values_list("payload_sha256", flat=True)
        )
        if digest(digests) != row["sha256"] or len(digests) != row["rows"]:
            found.append(f"the {row['name']} are not the ones that were sealed")
    return found
