"""The door of the pages. Who may read is decided in ``api.permissions``, for pages and API alike.

Without ``PUBLIC_READ`` only login, health checks and static files are open to all.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from rlvram_site.api.permissions import may_read

OPEN_PREFIXES = ("/login/", "/logout/", "/account/", "/health/", "/metrics", "/static/", "/favicon.ico",
                 "/admin/login/",
                 "/hooks/", "/notices/feed/", "/notices/unsubscribe/")  # fmt: skip


class ReadAccessMiddleware:
    """Asks for a login, and tells who has one and no role that she reads nothing yet."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if (
            request.path.startswith(OPEN_PREFIXES)
            or request.path.startswith("/api/")  # the API answers 401 and 403 itself
            or may_read(request.user)
        ):
            return self.get_response(request)
        if request.user.is_authenticated:
            return render(request, "account/no_role.html", status=403)
        return redirect_to_login(request.get_full_path())
