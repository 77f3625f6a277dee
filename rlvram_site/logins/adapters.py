"""What allauth asks of us: nobody signs up by himself, and the identity provider says who has which role."""

from __future__ import annotations

import time
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.core import context
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.base import AuthProcess
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from rlvram_site.api.permissions import REVIEWER, UPLOADER
from rlvram_site.client_address import limited_address

STAFF = "staff"
ROLES = (REVIEWER, UPLOADER, STAFF)


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by staff, or come from the identity provider."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return limited_address(request) or "local"

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Guessing is limited in ``logins.limits``; allauth's own limit would lock a name for everybody."""

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Not again within minutes of the login, which is also all that people of a provider can do."""
        request = context.request
        steps = get_authentication_records(request, request.user)
        recent = bool(steps) and time.time() - steps[-1]["at"] < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT
        return not recent and super().is_reauthentication_required(app=app, **kwargs)

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """Messages are what ``notices`` sends."""


class IdentityAdapter(DefaultSocialAccountAdapter):
    """People of the one identity provider that the settings name."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return True

    def is_auto_signup_allowed(self, request: HttpRequest, sociallogin: Any) -> bool:
        return True

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: Any) -> Any:
        user = super().populate_user(request, sociallogin, data)
        # An address that somebody else may have stands in no way: accounts are never joined by it.
        sociallogin.email_addresses = []
        return user

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        if sociallogin.state.get("process") != AuthProcess.LOGIN:
            raise PermissionDenied("An account here and one of the provider are never joined.")
        if sociallogin.is_existing:
            give_roles(sociallogin.user, roles_claimed(sociallogin.account.extra_data))

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        user = super().save_user(request, sociallogin, form)
        give_roles(user, roles_claimed(sociallogin.account.extra_data))
        return user


def roles_claimed(document: dict[str, Any]) -> frozenset[str]:
    """Our roles that the provider's claim stands for; none where nothing is mapped."""
    claims = {**(document.get("id_token") or {}), **(document.get("userinfo") or {})}
    value = claims.get(settings.OIDC_ROLE_CLAIM)
    words = value if isinstance(value, list) else [value]
    return frozenset(settings.OIDC_ROLES[word] for word in words if word in settings.OIDC_ROLES and word)


def give_roles(user: Any, roles: frozenset[str]) -> None:
    """Exactly these roles: what the provider took away is gone at the next login."""
    user.groups.set(Group.objects.filter(name__in=roles & {REVIEWER, UPLOADER}))
    if user.is_staff != (STAFF in roles):
        user.is_staff = STAFF in roles
        user.save(update_fields=["is_staff"])
