"""A browser in which somebody has logged in before carries a signed cookie that says so.

Guessers don't have it. So what they bring about, from the same office or from everywhere, does not keep the
owner of a name out of her own browser: attempts there are counted apart.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

COOKIE = "known-browser"
DAYS = 180
_SALT = "rlvram.known-browser"


def browser_known_for(request: HttpRequest, username: str) -> str:
    """The browser's random name if ``username`` has logged in there before, else empty."""
    try:
        value = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=DAYS * 86400)
        return str(value["browser"]) if username in value["names"] else ""
    except (signing.BadSignature, TypeError, KeyError):
        return ""


def _remember(sender: object, request: HttpRequest, user, **kwargs: object) -> None:
    request.known_browser_for = user.get_username()  # type: ignore[attr-defined]


user_logged_in.connect(_remember, dispatch_uid="known-browser")


class KnownBrowserMiddleware:
    """Sets the cookie on the answer in which somebody has logged in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if username := getattr(request, "known_browser_for", ""):
            value = {"browser": secrets.token_hex(16), "names": [username]}
            response.set_cookie(
                COOKIE, signing.dumps(value, salt=_SALT), max_age=DAYS * 86400, httponly=True, samesite="Lax",
                secure=settings.SESSION_COOKIE_SECURE,
            )  # fmt: skip
        return response
