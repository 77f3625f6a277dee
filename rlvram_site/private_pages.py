"""What somebody may read is kept by no proxy, asked after each time, gone from a browser after a logout."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_out
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control, patch_vary_headers

_NO_PAGES = ("/static/", "/health/", "/favicon.ico")
_TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]*"')


def _logged_out(sender: object, request: HttpRequest, **kwargs: object) -> None:
    request.just_logged_out = True  # type: ignore[attr-defined]


user_logged_out.connect(_logged_out, dispatch_uid="private-pages")


class PrivatePagesMiddleware:
    """``private, no-cache`` and an ETag for what not everybody may read.

    A view that says how it may be kept, or under which tag, is believed. After a logout a browser is told to
    forget what it kept, or its back button would show it again.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if getattr(request, "just_logged_out", False):
            response["Clear-Site-Data"] = '"cache"'
        if request.path.startswith(_NO_PAGES) or (settings.PUBLIC_READ and not request.user.is_authenticated):
            return response
        patch_vary_headers(response, ["Cookie", "Authorization"])
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_cache=True)
        elif "no-store" not in response["Cache-Control"]:
            patch_cache_control(response, private=True)
        if _has_tag(request, response):
            sent: Any = response
            return get_conditional_response(request, etag=response["ETag"], response=sent) or response
        return response


def _has_tag(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Gives a page its tag, where it can have one."""
    if (
        request.method not in ("GET", "HEAD")
        or response.status_code != 200
        or "no-store" in response["Cache-Control"]
    ):
        return False
    if not response.has_header("ETag"):
        if response.streaming or not isinstance(response, HttpResponse):
            return False
        # Each answer masks the token of its forms anew; what it stands for is the cookie's.
        content = _TOKEN.sub(b"", response.content)
        secret = str(request.META.get("CSRF_COOKIE", "")).encode()
        response["ETag"] = f'"{hashlib.sha256(content + secret).hexdigest()[:32]}"'
    return True
