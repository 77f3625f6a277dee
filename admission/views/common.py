"""What every page of an issue needs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from admission.dates import FIRST_YEAR, LAST_YEAR
from admission.models import TrackedIssue
from rlvram_site.access import is_staff

PAGES = (
    ("admission-issue", "What holds"),
    ("admission-changes", "Changes and reviews"),
    ("admission-witnesses", "Witnesses"),
    ("admission-receipts", "Receipts"),
    ("admission-proposals", "Proposals"),
)


@dataclass(frozen=True)
class AsOf:
    """The day a page is asked about; ``problem`` says why an answer is about now instead."""

    day: dt.date | None = None
    given: str = ""
    problem: str = ""


def as_of(request: HttpRequest) -> AsOf:
    """The ``as_of`` of the address: a day such as 2026-09-17."""
    given = request.GET.get("as_of", "").strip()
    if not given:
        return AsOf()
    try:
        day = dt.date.fromisoformat(given)
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise ValueError(given)
        return AsOf(day, given)
    except ValueError:
        return AsOf(None, given, f"“{given[:40]}” is not a day such as 2026-09-17; this is what holds now.")


def find_issue(owner: str, name: str, number: int) -> TrackedIssue:
    """The tracked issue of an address. Raises ``Http404``."""
    # Neither engine takes every integer that an address can hold, PostgreSQL no NUL.
    issue = (
        TrackedIssue.objects.filter(owner__iexact=owner, name__iexact=name, number=number).first()
        if number < 2**31 and "\x00" not in owner + name
        else None
    )
    if issue is None:
        raise Http404(f"{owner}/{name}#{number} is not tracked")
    return issue


def page_context(issue: TrackedIssue, page: str, moment: AsOf) -> dict[str, Any]:
    """Context of every page of an issue: its links keep the day that was asked about."""
    query = f"?as_of={moment.day}" if moment.day else ""
    links = [
        {"label": label, "address": reverse(name, args=issue.address) + query, "current": name == page}
        for name, label in PAGES
        if name != "admission-proposals" or issue.proposal_rows.all().exists()
    ]
    return {"issue": issue, "page_name": page, "links": links, "moment": moment, "as_of": moment.day}


def staff_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Only staff may record; others who are logged in are refused, and strangers asked to log in."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not is_staff(request.user):
            raise PermissionDenied("Only staff may record")
        return view(request, *args, **kwargs)

    return guarded
