"""Conditional reads. A stream is append-only, so the digest of its last link names everything in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from django.db.models import Max
from django.utils.http import parse_etags, quote_etag

from rlvram_site.ledger.models import LedgerEntry, LedgerStream

_FORM = "1"
"""Raise it when the same records are represented otherwise."""


def tag_of(streams: Iterable[str], *parts: str) -> str:
    """The entity tag of what is read from ``streams``, under a request that differs by ``parts``."""
    ends = (
        LedgerStream.objects.filter(name__in=list(streams))
        .order_by("name")
        .annotate(end=Max("entries__sequence"))
        .values_list("pk", "end")
    )
    heads = [
        LedgerEntry.objects.filter(stream=pk, sequence=end).values_list("sha256", flat=True).first() or ""
        for pk, end in ends
        if end is not None
    ]
    return quote_etag(hashlib.sha256("\n".join([_FORM, *heads, *parts]).encode()).hexdigest()[:32])


def matches(if_none_match: str, tag: str) -> bool:
    """Whether the client already has what ``tag`` names."""
    have = parse_etags(if_none_match)
    return "*" in have or tag in (item.removeprefix("W/") for item in have)
