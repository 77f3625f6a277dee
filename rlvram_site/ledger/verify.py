"""Walking the chains: does each link follow from the one before, and each row still say what it said?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Max

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import Head, link_digest
from rlvram_site.ledger.models import LedgerEntry, LedgerRecord, LedgerStream

CHUNK = 500


@dataclass(frozen=True)
class StreamReport:
    """What walking one stream found; ``problem`` is empty when everything holds."""

    head: Head
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


def record_models() -> list[type[LedgerRecord]]:
    """Every concrete recorded table of the site."""
    return [model for model in apps.get_models() if issubclass(model, LedgerRecord)]


def verify_streams(prefix: str = "") -> Iterator[StreamReport]:
    """One report per stream whose name starts with ``prefix``, in name order."""
    for stream in LedgerStream.objects.filter(name__startswith=prefix).order_by("name"):
        yield _walk(stream)


def _walk(stream: LedgerStream) -> StreamReport:
    previous, expected = "", 1
    for chunk in _chunks(stream):
        rows = _rows_of(chunk)
        for link in chunk:
            row = rows.get((link.record_type, link.record_id))
            problem = _problem(link, row, stream.name, expected, previous)
            if problem:
                return StreamReport(Head(stream.name, expected - 1, previous), f"link {expected}: {problem}")
            previous, expected = link.sha256, expected + 1
    return StreamReport(Head(stream.name, expected - 1, previous))


def _problem(link: LedgerEntry, row: LedgerRecord | None, stream: str, expected: int, previous: str) -> str:
    what = f"{link.record_type} {link.record_id}"
    if link.sequence != expected:
        return f"missing; the next link present is {link.sequence} ({what})"
    if link.previous_sha256 != previous:
        return f"does not follow from the link before it ({what})"
    if link.sha256 != link_digest(link, stream):
        return f"the link itself was changed ({what})"
    if row is None:
        return f"{what} is gone"
    if row.ledger_stream() != stream:
        return f"{what} now says it belongs to {row.ledger_stream()}"
    if digest(row.ledger_payload()) != link.payload_sha256:
        return f"{what} no longer has the content that was recorded"
    return ""


def _chunks(stream: LedgerStream) -> Iterator[list[LedgerEntry]]:
    last = 0
    while chunk := list(stream.entries.filter(sequence__gt=last).order_by("sequence")[:CHUNK]):
        yield chunk
        last = chunk[-1].sequence


def _rows_of(chunk: list[LedgerEntry]) -> dict[tuple[str, int], LedgerRecord]:
    wanted: dict[str, list[int]] = {}
    for link in chunk:
        wanted.setdefault(link.record_type, []).append(link.record_id)
    known = {model._meta.label_lower: model for model in record_models()}
    return {
        (label, pk): row
        for label, pks in wanted.items()
        if label in known
        for pk, row in known[label]._default_manager.in_bulk(pks).items()
    }


def unchained() -> Iterator[str]:
    """Recorded rows that no link names: they were inserted behind the ledger's back."""
    for model in record_models():
        label = model._meta.label_lower
        chained = LedgerEntry.objects.filter(record_type=label).values("record_id")
        for pk in model._default_manager.exclude(pk__in=chained).values_list("pk", flat=True)[:CHUNK]:
            yield f"{label} {pk}"


def extends(old: Head) -> str:
    """Empty when today's stream still contains ``old`` unchanged at its place, else what is wrong."""
    if old.sequence == 0:
        return ""
    link = LedgerEntry.objects.filter(stream__name=old.stream, sequence=old.sequence).first()
    if link is None:
        length = LedgerEntry.objects.filter(stream__name=old.stream).aggregate(n=Max("sequence"))["n"] or 0
        return f"it has {length} links, the kept head has {old.sequence}: history was cut"
    if link.sha256 != old.sha256:
        return f"link {old.sequence} is {link.sha256}, the kept head says {old.sha256}: history was rewritten"
    return ""
