"""Staff with ``STAFF_TWO_STEP=required``: no page and no call before this session took its second step.

Keys are machines' and have scopes of their own; they have no second step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_used
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse

from rlvram_site.access import is_staff
from rlvram_site.api.errors import body

_MARK = "second-step-of"
_OPEN = ("/account/", "/login/", "/logout/", "/health/", "/static/", "/favicon.ico", "/admin/jsi18n/")
MESSAGE = "Staff log in with a second step here. Set it up, then go on."


def _used(sender: object, request: HttpRequest, user: Any, **kwargs: object) -> None:
    note_second_step(request, user)


authenticator_used.connect(_used, dispatch_uid="second-step-used")


def note_second_step(request: HttpRequest, user: Any) -> None:
    """This session has shown that ``user`` has the app or the codes at hand."""
    request.session[_MARK] = user.pk


def second_step_is_due(request: HttpRequest) -> bool:
    """Whether this session of a staff member still lacks its second step."""
    if settings.STAFF_TWO_STEP != "required" or not is_staff(request.user):
        return False
    taken = request.session.get(_MARK) == request.user.pk
    return not (taken and is_mfa_enabled(request.user, [Authenticator.Type.TOTP]))


class TwoStepMiddleware:
    """Leads staff to the page that sets the second step up; answers 403 to calls of their sessions."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(_OPEN) or not second_step_is_due(request):
            return self.get_response(request)
        if request.path.startswith("/api/"):
            # A key that comes along is no reason to act for the session.
            return JsonResponse(body("second_step_required", MESSAGE), status=403)
        if is_mfa_enabled(request.user, [Authenticator.Type.TOTP]):
            return redirect(f"{reverse('mfa_reauthenticate')}?next={request.path}")
        return redirect("mfa_activate_totp")
