"""A server's clock that has gone back. The ledger keeps the time that the clock shows; order is by its links.

So nothing is lost and nothing is stamped otherwise, but it is never silent: the log says so when a link is
written, and the health page as long as the clock is behind what is recorded.
"""

from __future__ import annotations

import datetime as dt
import logging

from django.db.models import Max
from django.utils import timezone

from rlvram_site.ledger.links import LedgerEntry

_log = logging.getLogger(__name__)
TOLERANCE = dt.timedelta(seconds=2)
"""Clocks of several machines differ by this much without anything being wrong."""


def remark(stream: str, last: dt.datetime | None, now: dt.datetime) -> None:
    """Warn in the log if a link is about to be stamped earlier than the one before it."""
    if last is not None and last - now > TOLERANCE:
        _log.warning(
            "the clock has gone back: %s is recorded in %s, whose last link is of %s", now, stream, last
        )


def seconds_behind(now: dt.datetime | None = None) -> float:
    """By how much the clock is behind the newest link of all streams, in seconds; 0 within the tolerance."""
    newest = LedgerEntry.objects.aggregate(newest=Max("recorded_at"))["newest"]
    behind = newest - (now or timezone.now()) if newest is not None else dt.timedelta()
    return behind.total_seconds() if behind > TOLERANCE else 0.0
