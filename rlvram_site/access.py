"""Who may read, and who is on the staff. What a role may do in detail is in ``api.permissions``.

Without ``PUBLIC_READ`` only login, health checks and static files are open to all.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login

OPEN_PREFIXES = ("/login/", "/logout/", "/health/", "/metrics", "/static/", "/favicon.ico", "/admin/login/",
                 "/hooks/", "/notices/feed/", "/notices/unsubscribe/")  # fmt: skip


def is_staff(user: Any) -> bool:
    """Whether somebody is an active member of the staff, who may record by hand."""
    return bool(user.is_authenticated and user.is_active and user.is_staff)


class ReadAccessMiddleware:
    def __init__(self, get_response) -> None:
        self.get_response = get_response

    def __call__(self, request):
        if (
            settings.PUBLIC_READ
            or request.user.is_authenticated
            or request.path.startswith(OPEN_PREFIXES)
            or request.path.startswith("/api/")  # the API answers 401 itself
        ):
            return self.get_response(request)
        return redirect_to_login(request.get_full_path())
