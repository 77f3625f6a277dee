"""Health checks for a process manager: alive (the process answers), ready (its database answers and its disk
has room, too), and whether the last walk over the ledger found everything in order."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache

from rlvram_site.disk import shortage
from rlvram_site.ledger.checks import last_check
from rlvram_site.ledger.clock import seconds_behind
from rlvram_site.ledger.roles import ways_around
from rlvram_site.ledger.triggers import missing

logger = logging.getLogger(__name__)


@never_cache
def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "alive"})


@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return _silent_database()
    if short := shortage():
        logger.error("not ready: disk: %s", short)
        return JsonResponse({"status": "not ready", "disk": "nearly full: uploads are refused"}, status=503)
    return JsonResponse({"status": "ready"})


def _silent_database() -> JsonResponse:
    # The reason may name hosts and users: it belongs into the log, these pages are open to everybody.
    logger.exception("the database does not answer")
    return JsonResponse({"status": "not ready", "database": "does not answer"}, status=503)


@never_cache
def ledger(request: HttpRequest) -> JsonResponse:
    """Counts only, for the same reason; ``manage.py verify_ledger`` names the broken links."""
    try:
        check, guarded, more = last_check(), not missing(), _role() | _clock()
    except DatabaseError:
        return _silent_database()
    if check is None:
        guard = {"guard": "in place" if guarded else "missing", **more}
        return JsonResponse({"status": "not checked yet", **guard}, status=200 if guarded else 503)
    answer = {
        "status": "passed" if check.passed and guarded else "failed",
        "guard": "in place" if guarded else "missing",
        **more,
        "checked_at": check.finished_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "streams": check.streams,
        "links": check.links,
        "problems": len(check.problems),
    }
    return JsonResponse(answer, status=200 if check.passed and guarded else 503)


def _role() -> dict[str, str]:
    """Whether the database would keep the site itself from taking the guard away; a file can't."""
    if connection.vendor != "postgresql":
        return {}
    return {"role": "could remove the guard" if ways_around() else "limited"}


def _clock() -> dict[str, float]:
    """By how many seconds the clock is behind the newest record, if it is."""
    behind = seconds_behind()
    return {"clock_behind_seconds": round(behind)} if behind else {}
