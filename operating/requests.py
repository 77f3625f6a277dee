"""Each request has an id, which its answer, its log lines and its jobs carry, and one line in the log."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.conf import settings
from django.core.signals import request_finished
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseBase

from operating.logs import request_id

HEADER = "X-Request-ID"
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_log = logging.getLogger("rlvram.requests")


class RequestLogMiddleware:
    """First of all but the measuring, so that every answer is seen."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = _given(request) or uuid.uuid4().hex
        request_id.set(name)
        started = time.perf_counter()
        response = self.get_response(request)
        response[HEADER] = name
        if _log.isEnabledFor(logging.INFO):
            _write(request, response, time.perf_counter() - started)
        return response


@receiver(request_finished)
def _forget(**kwargs: object) -> None:
    """Not before: Django says what went wrong after the last middleware."""
    request_id.set("")


def _given(request: HttpRequest) -> str:
    """The id that the proxy gave; from anybody else's hand it could name another's request."""
    given = request.headers.get(HEADER, "") if settings.BEHIND_PROXY else ""
    return given if _WORD.match(given) else ""


def _write(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    length = response.headers.get("Content-Length", "")
    facts = {
        # Without the query: it holds what people search for, and sometimes more.
        "method": request.method, "path": request.path, "status": response.status_code,
        "milliseconds": round(seconds * 1000, 1), "bytes": int(length) if length.isdigit() else None,
        "address": request.META.get("REMOTE_ADDR", ""), "caller": _caller(request),
    }  # fmt: skip
    _log.info("%(method)s %(path)s %(status)s %(milliseconds)s ms", facts, extra=facts)


def _caller(request: HttpRequest) -> str:
    """A key by its prefix, a person by number: names and addresses of people don't belong into a log."""
    kind, _, key = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "api-key":
        return f"key {key[:8]}" if "." in key else "key"
    user = request.__dict__.get("_cached_user")
    return f"user {user.pk}" if user is not None and user.is_authenticated else ""
