"""The forge's webhook: checked, taken once, and then only a reason to look sooner.

Nothing of a delivery's content is recorded. It names what may have changed; the sync reads that from the
forge.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from admission.models import Change, ChangeHead
from admission.models.sync import Followed, HookDelivery
from admission.services.identity import own_host
from admission.sync.errors import SyncError
from admission.sync.following import address_here

_DELIVERY = re.compile(r"[A-Za-z0-9._-]{8,100}")
ISSUE_EVENTS = {"issues", "issue_comment", "sub_issues"}
PULL_EVENTS = {"pull_request", "pull_request_review", "pull_request_review_comment"}
CHECK_EVENTS = {"check_run", "check_suite", "status"}


class HookRefused(Exception):
    """A delivery that is not taken: the HTTP status, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Taken:
    """What became of a delivery, in a word, and how many followed issues it made due."""

    word: str
    made_due: int = 0


def signed(body: bytes, secret: str) -> str:
    """What ``X-Hub-Signature-256`` must say of ``body``."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def take(body: bytes, *, event: str, delivery: str, signature: str, secret: str) -> Taken:
    """Check a delivery and make due what it is about. Raises ``HookRefused``.

    A delivery that was taken before is refused, whoever sends it again.
    """
    if not hmac.compare_digest(signed(body, secret).encode(), signature.encode("utf-8", "replace")):
        raise HookRefused(403, "The signature does not fit the body.")
    if not _DELIVERY.fullmatch(delivery):
        raise HookRefused(400, "X-GitHub-Delivery is missing or no id of a delivery.")
    if not re.fullmatch(r"[a-z_]{1,60}", event):
        raise HookRefused(400, "X-GitHub-Event is missing or no name of an event.")
    payload = _payload(body)
    with transaction.atomic():
        try:
            with transaction.atomic():
                row = HookDelivery.objects.create(delivery=delivery, event=event)
        except IntegrityError:
            raise HookRefused(409, "This delivery was taken before.") from None
        if event == "ping":
            return Taken("pong")
        if event not in ISSUE_EVENTS | PULL_EVENTS | CHECK_EVENTS:
            return Taken("ignored")
        row.repository, row.number = _repository(payload), _number(payload)
        row.made_due = _followed(event, payload, row.repository).update(due_at=timezone.now())
        row.save(update_fields=["repository", "number", "made_due"])
    return Taken("scheduled" if row.made_due else "not followed", row.made_due)


def _payload(body: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        raise HookRefused(
            400, "The body is no JSON; set the webhook's content type to application/json."
        ) from None
    if not isinstance(payload, dict):
        raise HookRefused(400, "The body is no JSON object.")
    return payload


def _inside(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _repository(payload: dict[str, Any]) -> str:
    name = _inside(payload, "repository", "full_name")
    return name if isinstance(name, str) and re.fullmatch(r"[\w.-]{1,100}/[\w.-]{1,100}", name) else ""


def _number(payload: dict[str, Any]) -> int | None:
    for part in ("issue", "pull_request"):
        number = _inside(payload, part, "number")
        if type(number) is int and 0 < number < 2**31:
            return number
    return None


def _pull_numbers(event: str, payload: dict[str, Any]) -> list[int]:
    found = [_number(payload)] if event in PULL_EVENTS | {"issue_comment"} else []
    pulls = _inside(payload, event, "pull_requests")
    found += [_inside(pull, "number") for pull in pulls] if isinstance(pulls, list) else []
    return [number for number in found if type(number) is int and 0 < number < 2**31]


def _followed(event: str, payload: dict[str, Any], repository: str) -> Any:
    """The followed rows that the delivery is about."""
    rows = Followed.objects.filter(paused=False)
    if not repository:
        return rows.none()
    try:
        address = address_here(repository)
    except SyncError:
        return rows.none()
    own = Q(host=address.host, owner__iexact=address.owner, name__iexact=address.name)
    wanted = Q(pk__in=())
    if event in ISSUE_EVENTS:
        wanted |= own & Q(number__in=[0, _number(payload) or 0])
    changes = _changes(address.host, repository, _pull_numbers(event, payload), _sha(payload))
    return rows.filter(wanted | Q(issue__in=changes))


def _sha(payload: dict[str, Any]) -> str:
    sha = payload.get("sha")
    return sha if isinstance(sha, str) and re.fullmatch(r"[0-9a-f]{40,64}", sha) else ""


def _changes(host: str, repository: str, numbers: Iterable[int], sha: str) -> list[int]:
    """The issues that record one of these pull requests of ``repository``, or a head with that commit."""
    owner, _, name = repository.partition("/")
    own = Q(repository="", issue__owner__iexact=owner, issue__name__iexact=name)
    changes = Change.objects.filter(own | Q(repository__iexact=repository), issue__host=own_host(host))
    found = set(changes.filter(number__in=list(numbers)).values_list("issue_id", flat=True))
    if sha:
        found |= set(
            ChangeHead.objects.filter(sha=sha, change__in=changes).values_list("issue_id", flat=True)
        )
    return sorted(found)
