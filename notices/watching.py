"""Finds streams that grew, compares what holds with what held, and writes down what is to be told.

Notices, messages and the new snapshot are one transaction under the snapshot's lock. So a change is told
once, however many workers look and whenever one of them is lost; what happened while nobody looked is found
later.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from admission.models import TrackedIssue
from notices import issues, studies
from notices.models import Message, MessageNotice, Notice, Snapshot, Subscription
from rlvram_site.feed import owners
from rlvram_site.ledger.chain import head
from rlvram_site.ledger.models import LedgerEntry, LedgerStream
from studies.models import Study

logger = logging.getLogger(__name__)
Subject = TrackedIssue | Study


@dataclass(frozen=True)
class Grown:
    """A stream that has more links than its snapshot rests on."""

    stream: str
    sequence: int


def grown() -> list[Grown]:
    """Streams of issues and studies that grew since they were looked at. Two queries."""
    last = LedgerEntry.objects.filter(stream=OuterRef("pk")).order_by("-sequence").values("sequence")[:1]
    streams = LedgerStream.objects.filter(Q(name__startswith="issue/") | Q(name__startswith="study/"))
    seen = dict(Snapshot.objects.values_list("stream", "sequence"))
    return [
        Grown(name, sequence)
        for name, sequence in streams.annotate(last=Subquery(last)).values_list("name", "last")
        if sequence is not None and sequence > seen.get(name, 0)
    ]


def watch() -> int:
    """Look at everything that grew. Returns how many notices were written."""
    found = grown()
    subjects = owners(item.stream for item in found)
    written = 0
    for item in found:
        subject = subjects.get(item.stream)
        if not isinstance(subject, Subject):
            continue
        try:
            written += len(look(subject, item))
        except Exception:
            # One study that cannot be read must not keep everybody from being told of the others.
            logger.exception("%s could not be looked at", item.stream)
    return written


def look(subject: Subject, grown: Grown) -> list[Notice]:
    """Compare one subject with its snapshot, and write what is to be told. The first look tells nothing."""
    about = issues if isinstance(subject, TrackedIssue) else studies
    now: dict[str, Any] = about.state_of(subject)
    with transaction.atomic():
        kept, first = Snapshot.objects.get_or_create(
            stream=grown.stream, defaults={"sequence": grown.sequence, "state": now}
        )
        if first:
            return []
        kept = Snapshot.objects.select_for_update().get(pk=kept.pk)
        if kept.sequence >= grown.sequence:
            return []
        # What cannot be read now is None; what was known of it stays.
        now = kept.state | {name: value for name, value in now.items() if value is not None}
        notices = [
            Notice(
                kind=difference.kind, before=difference.before, now=difference.now, path=difference.path,
                title=now["title"],
                issue=subject if isinstance(subject, TrackedIssue) else None,
                study=subject if isinstance(subject, Study) else None,
            )
            for difference in about.differences(kept.state, now)
        ]  # fmt: skip
        for notice in notices:
            notice.save()
        hand_out(notices, subject)
        kept.sequence, kept.state, kept.taken_at = grown.sequence, now, timezone.now()
        kept.save()
    return notices


def see(subject: Subject) -> None:
    """Take what holds now for seen, so that the next change is told; nothing if it was looked at before."""
    if not Snapshot.objects.filter(stream=subject.stream).exists():
        look(subject, Grown(subject.stream, head(subject.stream).sequence))


def listening(subject: Subject) -> Iterable[Subscription]:
    """Who wants to be told of ``subject`` by a message; what names it comes before what names everything."""
    own = {"issue": subject} if isinstance(subject, TrackedIssue) else {"study": subject}
    everything = Q(issue=None, study=None)
    rows = Subscription.objects.filter(
        Q(**own) | everything, paused=False, ended_at=None, user__is_active=True
    ).exclude(channel=Subscription.Channel.FEED)
    # In a fixed order: two transactions that lock the same rows then never wait for each other.
    return sorted(
        rows.select_for_update(of=("self",)).order_by("pk"),
        key=lambda row: (row.issue_id or row.study_id) is None,
    )


def hand_out(notices: list[Notice], subject: Subject) -> None:
    """Put these on their way to everybody who listens, in the transaction that wrote them."""
    told: set[tuple[int, str, str, int]] = set()
    if not notices:
        return
    for subscription in listening(subject):
        wanted = []
        for notice in notices:
            # Somebody who follows everything and this issue as well gets one message, not two.
            key = (subscription.user_id, subscription.channel, subscription.url, notice.pk)
            if subscription.wants(notice) and key not in told:
                told.add(key)
                wanted.append(notice)
        if wanted:
            message = _message_for(subscription)
            MessageNotice.objects.bulk_create(
                MessageNotice(message=message, subscription=subscription, notice=notice) for notice in wanted
            )


def _message_for(subscription: Subscription) -> Message:
    """A new message, or the day's collection that is not sent yet."""
    now = timezone.now()
    if subscription.timing == Subscription.Timing.AT_ONCE:
        return Message.objects.create(subscription=subscription, due_at=now)
    waiting = Message.objects.filter(
        subscription=subscription, digest=True, state=Message.State.WAITING, attempts=0, due_at__gt=now
    ).first()
    return waiting or Message.objects.create(subscription=subscription, digest=True, due_at=next_digest(now))


def next_digest(now: dt.datetime) -> dt.datetime:
    """The next time at which collections are sent, ``NOTICES_DIGEST_HOUR`` UTC."""
    today = now.astimezone(dt.UTC).replace(
        hour=settings.NOTICES_DIGEST_HOUR, minute=0, second=0, microsecond=0
    )
    return today if today > now else today + dt.timedelta(days=1)
