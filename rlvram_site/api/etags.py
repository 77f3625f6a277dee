"""Conditional reads. A stream is append-only, so the digest of its last link names everything in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from django.db.models import OuterRef, Subquery
from django.utils.http import parse_etags, quote_etag

from rlvram_site.ledger.models import LedgerEntry, LedgerStream

_FORM = "1"
"""Raise it when the same records are represented otherwise."""


def tag_of(streams: Iterable[str], *parts: str) -> str:
    """The entity tag of what is read from ``streams``, under a request that differs by ``parts``."""
    last = LedgerEntry.objects.filter(stream=OuterRef("pk")).order_by("-sequence").values("sha256")[:1]
    found = LedgerStream.objects.filter(name__in=list(streams)).order_by("name").annotate(last=Subquery(last))
    heads = [sha256 for sha256 in found.values_list("last", flat=True) if sha256 is not None]
    return quote_etag(hashlib.sha256("\n".join([_FORM, *heads, *parts]).encode()).hexdigest()[:32])


def matches(if_none_match: str, tag: str) -> bool:
    """Whether the client already has what ``tag`` names."""
    have = parse_etags(if_none_match)
    return "*" in have or tag in (item.removeprefix("W/") for item in have)
