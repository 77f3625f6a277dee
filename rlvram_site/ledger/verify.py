"""Walking the chains: does each link follow from the one before, and each row still say what it said?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from django.apps import apps
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import ForeignKey, Max

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import Head, link_digest
from rlvram_site.ledger.models import LedgerEntry, LedgerRecord, LedgerStream

CHUNK = 500


@dataclass(frozen=True)
class StreamReport:
    """What walking one stream found; ``problem`` is empty when everything holds.

    ``walked`` is the number of links that were looked at.
    """

    head: Head
    problem: str = ""
    walked: int = 0

    @property
    def ok(self) -> bool:
        return not self.problem


def record_models() -> list[type[LedgerRecord]]:
    """Every concrete recorded table of the site."""
    return [model for model in apps.get_models() if issubclass(model, LedgerRecord)]


def verify_streams(prefix: str = "", since: Iterable[Head] = ()) -> Iterator[StreamReport]:
    """One report per stream whose name, or whose part behind the slash, starts with ``prefix``; by name.

    ``since`` are heads that were found whole: of their streams only what came after is walked.
    """
    kept = {head.stream: head for head in since}
    for stream in LedgerStream.objects.order_by("name"):
        if _matches(stream.name, prefix):
            yield _walk(stream, kept.get(stream.name, Head(stream.name, 0, "")))


def _matches(stream: str, prefix: str) -> bool:
    return stream.startswith(prefix) or stream.partition("/")[2].startswith(prefix)


def _walk(stream: LedgerStream, start: Head) -> StreamReport:
    if problem := extends(start):
        return StreamReport(start, problem)
    previous, expected = start.sha256, start.sequence + 1
    for link, row in linked_rows(stream, start.sequence):
        problem = _problem(link, row, stream.name, expected, previous)
        if problem:
            end, walked = Head(stream.name, expected - 1, previous), expected - 1 - start.sequence
            return StreamReport(end, f"link {expected}: {problem}", walked)
        previous, expected = link.sha256, expected + 1
    return StreamReport(Head(stream.name, expected - 1, previous), walked=expected - 1 - start.sequence)


def _problem(link: LedgerEntry, row: LedgerRecord | None, stream: str, expected: int, previous: str) -> str:
    what = f"{link.record_type} {link.record_id}"
    if link.sequence != expected:
        return f"missing; the next link present is {link.sequence} ({what})"
    if link.previous_sha256 != previous:
        return f"does not follow from the link before it ({what})"
    if link.sha256 != link_digest(link, stream):
        return f"the link itself was changed ({what})"
    if row is None:
        return f"{what} is gone or unreadable"
    if (claimed := _stream_of(row)) != stream:
        return f"{what} now says it belongs to {claimed}"
    try:
        unchanged = digest(row.ledger_payload()) == link.payload_sha256
    except ValueError:  # a value that the ledger never takes
        unchanged = False
    return "" if unchanged else f"{what} no longer has the content that was recorded"


def _stream_of(row: LedgerRecord) -> str:
    try:
        return row.ledger_stream()
    except ObjectDoesNotExist as error:
        return f"something that is gone ({error})"


def linked_rows(stream: LedgerStream, after: int = 0) -> Iterator[tuple[LedgerEntry, LedgerRecord | None]]:
    """Every link of a stream behind ``after`` with its row; None for a row that is gone or unreadable."""
    for chunk in _chunks(stream, after):
        rows = _rows_of(chunk)
        for link in chunk:
            yield link, rows.get((link.record_type, link.record_id))


def _chunks(stream: LedgerStream, last: int) -> Iterator[list[LedgerEntry]]:
    while chunk := list(stream.entries.filter(sequence__gt=last).order_by("sequence")[:CHUNK]):
        yield chunk
        last = chunk[-1].sequence


def _rows_of(chunk: list[LedgerEntry]) -> dict[tuple[str, int], LedgerRecord]:
    wanted: dict[str, list[int]] = {}
    for link in chunk:
        wanted.setdefault(link.record_type, []).append(link.record_id)
    known = {model._meta.label_lower: model for model in record_models()}
    found = {}
    for label, pks in wanted.items():
        if label not in known:
            continue
        rows = _read(known[label], pks)
        _attach_owners(known[label], rows.values())
        found.update({(label, pk): row for pk, row in rows.items()})
    return found


def _attach_owners(model: type[LedgerRecord], rows: Collection[LedgerRecord]) -> None:
    """A row names its stream through its owner: one query per relation instead of one per row."""
    for field in model._meta.concrete_fields:
        if isinstance(field, ForeignKey):
            wanted = {getattr(row, field.attname) for row in rows} - {None}
            owners = field.remote_field.model._default_manager.order_by().in_bulk(wanted)
            for row in rows:
                if owner := owners.get(getattr(row, field.attname)):
                    field.set_cached_value(row, owner)


def _read(model: type[LedgerRecord], pks: list[int]) -> dict[int, LedgerRecord]:
    """Rows by key. One that no longer even reads as its fields' types is left out, like one that is gone."""
    try:
        # Without the default order, which may join the owner's table and so lose a row that has none.
        return model._default_manager.order_by().in_bulk(pks)
    except (TypeError, ValueError):
        if len(pks) == 1:
            return {}
        middle = len(pks) // 2
        return _read(model, pks[:middle]) | _read(model, pks[middle:])


DerivedCheck = Callable[[str], str]
_derived: list[DerivedCheck] = []


def check_derived(check: DerivedCheck) -> None:
    """Let ``check`` say, for a stream by name, the first difference between rows that are derived from it and
    what it gives; empty if there is none."""
    if check not in _derived:
        _derived.append(check)


def derived_problems(reports: Iterable[StreamReport]) -> Iterator[str]:
    """What is derived and no longer follows, of streams that had a link to walk and hold: from a broken one
    nothing follows."""
    for report in reports:
        if report.ok and report.walked:
            for check in _derived:
                if problem := check(report.head.stream):
                    yield f"{report.head.stream}  {problem}; manage.py rebuild_projections makes it anew"


@dataclass(frozen=True)
class Unchained:
    """A recorded row that no link names, and the stream that it claims to belong to."""

    stream: str
    record: str


def unchained(prefix: str = "") -> Iterator[Unchained]:
    """Rows that were inserted behind the ledger's back, of streams that match as in ``verify_streams``."""
    for model in record_models():
        label = model._meta.label_lower
        chained = LedgerEntry.objects.filter(record_type=label).values("record_id")
        for row in model._default_manager.exclude(pk__in=chained).order_by("pk").iterator(CHUNK):
            if _matches(stream := _stream_of(row), prefix):
                yield Unchained(stream, f"{label} {row.pk}")


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
