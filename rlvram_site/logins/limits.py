"""How often may be guessed. django-axes keeps the attempts; which of them lock whom out is decided here.

| counted | after | then |
|---|---|---|
| wrong passwords for one name from one address | 5 | the pair is locked for 15 minutes |
| wrong passwords from one address | 30 | that address, too, for browsers nobody knows |
| wrong passwords for one name from anywhere | 10 | the name waits between attempts: 2 s, 4 s, at most 60 s |

A browser in which that name has logged in before is counted by itself, so that no neighbour behind the same
address and no crowd elsewhere locks its owner out.
"""

from __future__ import annotations

import datetime as dt
import math

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from rlvram_site.logins.known_browsers import browser_known_for

NAMES_OF_ONE_ADDRESS = 30
"""Wrong passwords that one address has for all names together."""
FREE_FAILURES_OF_ONE_NAME = 10
LONGEST_WAIT = 60  # s
COUNTED_FOR = dt.timedelta(hours=settings.AXES_COOLOFF_TIME)
_KNOWN = "known browser "
LONGEST_NAME = 150  # as Django's own


def wait_between(failures: int) -> int:
    """Seconds that a name has to wait after so many failures from anywhere."""
    over = failures - FREE_FAILURES_OF_ONE_NAME
    return 0 if over < 0 else min(LONGEST_WAIT, 2 ** min(over + 1, 10))


def seconds_until_allowed(request: HttpRequest, username: str, now: dt.datetime) -> int:
    """How long ``username`` has to wait at this browser and address; 0 when it may try now."""
    recent = AccessAttempt.objects.filter(attempt_time__gt=now - COUNTED_FOR)
    if browser := browser_known_for(request, username):
        return _locked(recent.filter(user_agent=_KNOWN + browser), settings.AXES_FAILURE_LIMIT, now)
    here = recent.filter(ip_address=request.axes_ip_address)  # type: ignore[attr-defined]
    strangers = here.exclude(user_agent__startswith=_KNOWN)
    return max(
        _locked(strangers.filter(username=username), settings.AXES_FAILURE_LIMIT, now),
        _locked(strangers, NAMES_OF_ONE_ADDRESS, now),
        _slowed(recent.filter(username=username), now),
    )


def _locked(attempts: QuerySet[AccessAttempt], limit: int, now: dt.datetime) -> int:
    failures, last = _counted(attempts)
    return _left(last + COUNTED_FOR, now) if last and failures >= limit else 0


def _slowed(attempts: QuerySet[AccessAttempt], now: dt.datetime) -> int:
    failures, last = _counted(attempts)
    return _left(last + dt.timedelta(seconds=wait_between(failures)), now) if last else 0


def _counted(attempts: QuerySet[AccessAttempt]) -> tuple[int, dt.datetime | None]:
    found = attempts.aggregate(failures=Sum("failures_since_start"), last=Max("attempt_time"))
    return found["failures"] or 0, found["last"]


def _left(until: dt.datetime, now: dt.datetime) -> int:
    return max(0, math.ceil((until - now).total_seconds()))


class LoginLimits(AxesDatabaseHandler):
    """axes' own counting, with the three limits above and a name for browsers that are known."""

    def is_locked(self, request: HttpRequest, credentials: dict | None = None) -> bool:
        left = seconds_until_allowed(request, _name(request, credentials), timezone.now())
        request.login_wait_seconds = left  # type: ignore[attr-defined]
        return left > 0

    def get_failures(self, request: HttpRequest, credentials: dict | None = None) -> int:
        """As many as the limit, once this attempt was the one that locks."""
        return settings.AXES_FAILURE_LIMIT if self.is_locked(request, credentials) else 0

    def user_login_failed(self, sender, credentials: dict, request=None, **kwargs) -> None:
        if request is not None:
            name = _name(request, credentials)
            browser = browser_known_for(request, name)
            sent = request.axes_user_agent
            # Nobody calls himself known.
            request.axes_user_agent = (
                _KNOWN + browser if browser else "" if sent.startswith(_KNOWN) else _one_agent(sent)
            )
            credentials = credentials | {"username": name}
        super().user_login_failed(sender, credentials, request=request, **kwargs)


def _one_agent(sent: str) -> str:
    return sent.replace("\0", "")


def _name(request: HttpRequest, credentials: dict | None) -> str:
    name = get_client_username(request, credentials) or ""
    return str(name).replace("\0", "")[:LONGEST_NAME]


def refused(
    request: HttpRequest, original: HttpResponse | None = None, credentials: dict | None = None
) -> HttpResponse:
    """429 with a page that says how long to wait."""
    seconds = max(1, getattr(request, "login_wait_seconds", 0))
    context = {"seconds": seconds, "minutes": math.ceil(seconds / 60)}
    response = render(request, "account/refused.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response
