"""What opens a feed, and what ends a subscription from within a mail."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from typing import Any

from django.core import signing
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from notices.models import FeedKey, Subscription
from rlvram_site.api.permissions import may_read

USE_RESOLUTION = dt.timedelta(hours=1)


def issue_feed_key(user: Any) -> tuple[FeedKey, str]:
    """A new key for the person's feed, and what it is in full, which can't be had again. Earlier ones end."""
    revoke_feed_keys(user)
    prefix, secret = secrets.token_hex(5), secrets.token_urlsafe(32)
    row = FeedKey.objects.create(user=user, prefix=prefix, sha256=_hash(secret))
    return row, f"{prefix}.{secret}"


def revoke_feed_keys(user: Any) -> int:
    """End every key of the person's feed. Returns how many."""
    return FeedKey.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())


def find_feed_key(key: str) -> FeedKey | None:
    """The valid key that ``key`` spells; its person must be active and may read."""
    prefix, _, secret = key.partition(".")
    row = FeedKey.objects.select_related("user").filter(prefix=prefix[:12], revoked_at=None).first()
    known = row.sha256 if row is not None else _hash("nobody's")
    if not constant_time_compare(known, _hash(secret)) or row is None or not is_told(row.user):
        return None
    now = timezone.now()
    if row.used_at is None or now - row.used_at > USE_RESOLUTION:
        FeedKey.objects.filter(pk=row.pk).update(used_at=now)
    return row


def is_told(user: Any) -> bool:
    """Whether a person is told anything: only of what she could read on the pages."""
    return bool(user.is_active and may_read(user))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _signer() -> signing.Signer:
    return signing.Signer(salt="notices.unsubscribe")


def unsubscribe_token(subscription: Subscription) -> str:
    """What stands in a mail's address to unsubscribe; it opens nothing else."""
    return _signer().sign(f"{subscription.pk}-{subscription.nonce[:12]}")


def subscription_of(token: str) -> Subscription | None:
    """The subscription that a mail's address names."""
    try:
        pk, _, nonce = _signer().unsign(token).partition("-")
    except signing.BadSignature:
        return None
    return Subscription.objects.filter(pk=int(pk), nonce__startswith=nonce).first()
