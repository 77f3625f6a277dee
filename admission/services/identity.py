"""Which tracked issue an address or an export means: host, repository and number, or the forge's own id."""

from __future__ import annotations

import datetime as dt

from django.http import Http404

from admission import dates
from admission.models import IssueAddress, TrackedIssue
from admission.models.base import Origin
from admission.models.issues import PUBLIC_HOST
from rlvram_site.ledger.chain import lock_stream, record


def own_host(host: str) -> str | None:
    """``host`` as an issue keeps it: None for the public forge."""
    host = host.strip().lower()
    return None if host in ("", PUBLIC_HOST) else host


def known_issue(
    owner: str, name: str, number: int, host: str = "", forge_id: str = ""
) -> TrackedIssue | None:
    """The tracked issue that has this address, now or before it was transferred, or this id of its forge."""
    # Names of owners and repositories do not distinguish case.
    here = TrackedIssue.objects.filter(
        host=own_host(host), owner__iexact=owner, name__iexact=name, number=number
    ).first()
    if here is not None:
        return here
    addresses = IssueAddress.objects.select_related("issue").filter(host=own_host(host) or PUBLIC_HOST)
    if forge_id and (same := addresses.filter(forge_id=forge_id).first()):
        return same.issue
    moved = addresses.filter(owner__iexact=owner, name__iexact=name, number=number).first()
    return moved.issue if moved else None


def lock(issue: TrackedIssue) -> None:
    """Let nobody else add to ``issue`` until the transaction around ends."""
    lock_stream(issue.stream)


def locked_issue(
    owner: str, name: str, number: int, url: str = "", *, host: str = "", forge_id: str = ""
) -> TrackedIssue:
    """The issue's row, made if need be; its stream stays locked until the transaction ends."""
    known = known_issue(owner, name, number, host, forge_id)
    issue = known or TrackedIssue(host=own_host(host), owner=owner, name=name, number=number, url=url)
    lock(issue)
    known = known or known_issue(owner, name, number, host, forge_id)
    if known is None:
        record(issue)
    return known or issue


def find_issue(owner: str, name: str, number: int, host: str = "") -> TrackedIssue:
    """The tracked issue of an address, also one that it had before it was transferred. Raises ``Http404``."""
    # Neither engine takes every integer that an address can hold, PostgreSQL no NUL.
    fits = number < 2**31 and "\x00" not in owner + name + host
    issue = known_issue(owner, name, number, host) if fits else None
    if issue is None:
        raise Http404(f"{f'{host}/' if host else ''}{owner}/{name}#{number} is not tracked")
    return issue


def addresses(issue: TrackedIssue) -> list[IssueAddress]:
    """Every address under which exports gave the issue, the latest last."""
    return list(issue.issueaddress_rows.all().order_by("id"))


def other_id(issue: TrackedIssue, host: str, forge_id: str) -> str:
    """The id that this forge gave ``issue``, if that is another one than ``forge_id``; else empty."""
    known = [row.forge_id for row in addresses(issue) if row.forge_id and row.host == host.lower()]
    return known[-1] if forge_id and known and forge_id not in known else ""


def note_address(
    issue: TrackedIssue, *, host: str, owner: str, name: str, number: int, url: str, forge_id: str,
    stated: dates.StatedTime, seen_at: dt.datetime,
) -> bool:  # fmt: skip
    """Record an address of ``issue`` unless it is known with this id. Says whether it is new."""
    rows = addresses(issue)
    same = (host.lower(), owner.lower(), name.lower(), number)
    at_hand = [row for row in rows if (row.host, row.owner.lower(), row.name.lower(), row.number) == same]
    if any(row.forge_id == forge_id or not forge_id for row in at_hand):
        return False
    own = (issue.host or PUBLIC_HOST, issue.owner.lower(), issue.name.lower(), issue.number)
    if not forge_id and own == same:
        return False  # the issue's own row says it already
    row = IssueAddress(
        issue=issue, key=f"address-{len(rows) + 1}", origin=Origin.THREAD, host=host.lower(), owner=owner,
        name=name, number=number, url=url, forge_id=forge_id, seen_at=seen_at,
    )  # fmt: skip
    row.set_stated(stated)
    record(row)
    return True
