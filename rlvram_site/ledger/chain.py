"""Writing recorded rows and extending their streams' chains.

A link's digest covers the stream, its sequence number, the recorded row's digest, who recorded it, when,
and the digest of the link before; changing any of them, or any field of any row, breaks the chain there.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone

from rlvram_site.ledger import clock
from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.links import AppendOnlyError, ChainedRow, LedgerEntry, LedgerStream

Follower = Callable[[Sequence[ChainedRow]], None]
_followers: list[Follower] = []

_actor: ContextVar[str] = ContextVar("ledger_actor", default="system")


@contextlib.contextmanager
def acting(name: str) -> Iterator[None]:
    """Everything recorded inside is attributed to ``name``."""
    token = _actor.set(name)
    try:
        yield
    finally:
        _actor.reset(token)


def act_as(name: str) -> None:
    """Attribute what the current request records from here on to ``name``; ``acting`` around it ends this."""
    _actor.set(name)


def current_actor() -> str:
    """Who is recording now."""
    return _actor.get()


def follow_records(follower: Follower) -> None:
    """Call ``follower`` with rows that were just recorded, in their transaction and with their streams held.

    What it raises takes the rows back, so it raises nothing for what the ledger itself accepts.
    """
    if follower not in _followers:
        _followers.append(follower)


@dataclass(frozen=True)
class Head:
    """The end of a stream: number of links and the last link's digest (empty for an empty stream)."""

    stream: str
    sequence: int
    sha256: str


def head(stream: str) -> Head:
    """The current end of ``stream``."""
    last = LedgerEntry.objects.filter(stream__name=stream).order_by("-sequence").first()
    return Head(stream, last.sequence, last.sha256) if last else Head(stream, 0, "")


def lock_stream(name: str) -> LedgerStream:
    """Let nobody else extend ``name`` until the transaction around it ends; what is read then stays so."""
    try:
        return LedgerStream.objects.select_for_update().get(name=name)
    except LedgerStream.DoesNotExist:
        LedgerStream.objects.get_or_create(name=name)
        return LedgerStream.objects.select_for_update().get(name=name)


def record(row: ChainedRow) -> None:
    """Insert one new row and its link, both or neither."""
    record_all([row])


def record_all(rows: Iterable[ChainedRow], *, locked: LedgerStream | None = None) -> None:
    """Insert new rows (of any types) and their links in one transaction, in the given order.

    Rows of one type that follow each other are inserted together. Times are the server's own: whatever
    ``recorded_at`` a row carried is replaced. ``locked`` is a stream that the caller's transaction already
    holds (``lock_stream``), so that it is not asked for again.
    Raises ``AppendOnlyError`` for a row that already stands in the database, ``ValidationError`` (by field)
    for a value that its field does not take, ``ValueError`` for one that cannot be recorded at all.
    """
    pending = list(rows)
    if not pending:
        return
    now = timezone.now()
    digests: list[str] = []
    with transaction.atomic():
        for batch in _runs(pending):
            for row in batch:
                if not row._state.adding:
                    raise AppendOnlyError(f"{row._meta.verbose_name} {row.pk} is already recorded")
                row.recorded_at = now
                _prepare(row)
                digests.append(digest(row.ledger_payload()))
            _insert(batch)
        _extend(list(zip(pending, digests, strict=True)), now, locked)
        for follower in _followers:
            follower(pending)


def _insert(rows: Sequence[models.Model]) -> None:
    # The plain QuerySet: our own manager refuses bulk_create so that nobody forgets the chain.
    plain: models.QuerySet = models.QuerySet(type(rows[0]))
    plain.bulk_create(rows)


def _prepare(row: ChainedRow) -> None:
    """Give each field the value that a later read will return, and check it while it can still be refused.

    A wrong value could never be corrected in place, and SQLite by itself checks neither length nor choices.
    """
    errors: dict[str, list[str]] = {}
    for field in row._meta.concrete_fields:
        if field.primary_key:
            continue
        if (
            isinstance(field, models.ForeignKey)
            and getattr(row, field.attname) is None
            and field.is_cached(row)
        ):
            # The related row was given its key after it had been assigned.
            setattr(row, field.name, getattr(row, field.name))
        try:
            value = field.to_python(getattr(row, field.attname))
            setattr(row, field.attname, value)
            if value is None and not field.null:
                raise ValidationError("a value is needed")
            if field.choices and value not in (None, ""):
                field.validate(value, row)
            field.run_validators(value)
        except ValidationError as error:
            errors[field.name] = [f"{row._meta.verbose_name}: {message}" for message in error.messages]
    if errors:
        raise ValidationError(errors)


def _runs(rows: Sequence[ChainedRow]) -> Iterator[list[ChainedRow]]:
    run: list[ChainedRow] = []
    for row in rows:
        if run and type(run[0]) is not type(row):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _extend(rows: Sequence[tuple[ChainedRow, str]], now: dt.datetime, locked: LedgerStream | None) -> None:
    by_stream: dict[str, list[tuple[ChainedRow, str]]] = {}
    for row, payload_sha256 in rows:
        by_stream.setdefault(row.ledger_stream(), []).append((row, payload_sha256))
    # A fixed order of locks, so that two writers on the same streams cannot wait for each other.
    for name in sorted(by_stream):
        stream = locked if locked is not None and locked.name == name else lock_stream(name)
        ends = LedgerEntry.objects.filter(stream=stream).order_by("-sequence")
        sequence, previous, last = ends.values_list("sequence", "sha256", "recorded_at").first() or (
            0,
            "",
            None,
        )
        clock.remark(name, last, now)
        links: list[LedgerEntry] = []
        for row, payload_sha256 in by_stream[name]:
            sequence += 1
            link = LedgerEntry(
                stream=stream,
                sequence=sequence,
                record_type=row._meta.label_lower,
                record_id=row.pk,
                payload_sha256=payload_sha256,
                previous_sha256=previous,
                actor=_actor.get(),
                recorded_at=now,
            )
            link.sha256 = previous = link_digest(link, name)
            links.append(link)
        _insert(links)


def link_digest(link: LedgerEntry, stream: str) -> str:
    """sha256 of everything a link says but its own digest."""
    return digest(
        {
            "stream": stream,
            "sequence": link.sequence,
            "record_type": link.record_type,
            "record_id": link.record_id,
            "payload_sha256": link.payload_sha256,
            "previous_sha256": link.previous_sha256,
            "actor": link.actor,
            "recorded_at": link.recorded_at,
        }
    )
