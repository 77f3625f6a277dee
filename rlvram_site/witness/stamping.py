"""Which seals and heads are to be stamped, and keeping what came of it. A seal never waits for this."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from rlvram_site.ledger.canonical import canonical_json
from rlvram_site.ledger.chain import lock_stream
from rlvram_site.ledger.models import LedgerEntry, LedgerStream
from rlvram_site.witness import signing
from rlvram_site.witness.authority import (
    AuthorityError,
    address,
    check_stamp,
    configured_chain,
    request_stamp,
)
from rlvram_site.witness.models import STREAM, StampProblem, TimeStamp

SEALS = "studies.seal"
EVERY = dt.timedelta(days=1)
AT_ONCE = 20
"""Seals that one run has stamped; the next run goes on."""
LONGEST_PAUSE = dt.timedelta(hours=1)
Covers = list[dict[str, Any]]


def content_of(covers: Covers) -> bytes:
    """The bytes that are stamped and signed."""
    return canonical_json(covers).encode()


def all_heads() -> Covers:
    """The end of every stream but the witnesses' own, in order of their names."""
    last = LedgerEntry.objects.filter(stream=OuterRef("pk")).order_by("-sequence")
    rows = (
        LedgerStream.objects.exclude(name=STREAM)
        .annotate(end=Subquery(last.values("sequence")[:1]), sha256=Subquery(last.values("sha256")[:1]))
        .filter(end__isnull=False)
    )
    return [{"stream": row.name, "sequence": row.end, "sha256": row.sha256} for row in rows.order_by("name")]


def is_due(last: TimeStamp | signing.HeadSignature | None) -> bool:
    """Whether the heads' last witness is older than a day."""
    return last is None or timezone.now() - last.recorded_at >= EVERY


def witness_what_is_due() -> list[str]:
    """Sign and stamp what has no witness yet, and say what failed; once a day for the heads."""
    covers = all_heads()
    if covers and is_due(signing.HeadSignature.objects.last()):
        signing.sign_heads(covers, content_of(covers))
    if not settings.TIMESTAMP_URL:
        return []
    problems = [problem for link in _unstamped() if (problem := _stamp(TimeStamp.About.SEAL, link))]
    if covers and is_due(TimeStamp.objects.filter(about=TimeStamp.About.HEADS).last()):
        problems.append(_stamp(TimeStamp.About.HEADS, None, covers))
    return [problem for problem in problems if problem]


def _unstamped() -> Iterator[LedgerEntry]:
    done = TimeStamp.objects.filter(about=TimeStamp.About.SEAL).values("record_id")
    waiting = StampProblem.objects.filter(again_at__gt=timezone.now(), record_id__isnull=False)
    links = LedgerEntry.objects.filter(record_type=SEALS).exclude(record_id__in=done)
    yield from links.exclude(record_id__in=waiting.values("record_id")).select_related("stream")[:AT_ONCE]


def _stamp(about: str, link: LedgerEntry | None, covers: Covers | None = None) -> str:
    """Have one thing stamped and recorded. Returns what went wrong; empty if nothing did."""
    record_id = link.record_id if link else None
    known = StampProblem.objects.filter(about=about, record_id=record_id)
    before = known.first()
    now = timezone.now()
    if before and before.again_at > now:
        return ""
    if link:
        covers = [{"stream": link.stream.name, "sequence": link.sequence, "sha256": link.sha256}]
    assert covers
    try:
        chain = configured_chain()
        stamp = request_stamp(content_of(covers), chain)
    except AuthorityError as error:
        tries = before.tries + 1 if before else 1
        pause = min(dt.timedelta(minutes=2 ** min(tries - 1, 6)), LONGEST_PAUSE)
        values = {"problem": str(error)[:500], "tries": tries, "tried_at": now, "again_at": now + pause}
        StampProblem.objects.update_or_create(about=about, record_id=record_id, defaults=values)
        return str(error)
    with transaction.atomic():
        lock_stream(STREAM)
        if record_id is None or not TimeStamp.objects.filter(about=about, record_id=record_id).exists():
            TimeStamp(
                about=about, record_id=record_id, covers=covers, authority=address()[:300],
                signer=stamp.signer[:500], stamped_at=stamp.stamped_at, chain=chain,
                response=base64.b64encode(stamp.response).decode(),
            ).save()  # fmt: skip
        known.delete()
    return ""


def stamp_of(seal_pk: int) -> TimeStamp | None:
    """The stamp of a seal. It was checked when it was recorded, and is again by ``verify_ledger``."""
    return TimeStamp.objects.filter(about=TimeStamp.About.SEAL, record_id=seal_pk).first()


def broken_stamps() -> Iterator[str]:
    """What no longer holds of recorded stamps, one sentence each."""
    for row in TimeStamp.objects.iterator(200):
        try:
            stamp = check_stamp(
                base64.b64decode(row.response, validate=True), content_of(row.covers), row.chain
            )
        except (AuthorityError, binascii.Error) as error:
            yield f"time stamp {row.pk}: {error}"
            continue
        if stamp.stamped_at != row.stamped_at:
            yield f"time stamp {row.pk}: it was recorded as of {row.stamped_at}, and says {stamp.stamped_at}"
        yield from (f"time stamp {row.pk}: {problem}" for problem in _moved(row.covers))


def broken_signatures() -> Iterator[str]:
    """What no longer holds of recorded signatures, one sentence each."""
    for row in signing.HeadSignature.objects.select_related("key").iterator(200):
        if not signing.holds(row.key.public_key, row.signature, content_of(row.covers)):
            yield f"signature {row.pk}: it is not one of these heads by key {row.key_id}"
        yield from (f"signature {row.pk}: {problem}" for problem in _moved(row.covers))


def _moved(covers: Covers) -> Iterator[str]:
    """Links that the ledger no longer has as a witness saw them."""
    wanted = [end["sha256"] for end in covers]
    links = LedgerEntry.objects.filter(sha256__in=wanted)
    there = set(links.values_list("stream__name", "sequence", "sha256"))
    for end in covers:
        if (end["stream"], end["sequence"], end["sha256"]) not in there:
            yield f"link {end['sequence']} of {end['stream']} is not the one that was witnessed"
