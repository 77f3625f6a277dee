"""The login page: name and password, then whatever second step the person has set up."""

from __future__ import annotations

import logging
from typing import Any

import requests
from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import perform_login
from allauth.mfa.base.views import IndexView
from allauth.mfa.totp.views import ActivateTOTPView
from allauth.socialaccount.providers.openid_connect.views import login as to_provider
from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from rlvram_site.access import is_staff
from rlvram_site.api.keys import keys_of
from rlvram_site.logins.two_step import note_second_step

logger = logging.getLogger(__name__)


class Login(LoginView):
    """Django's page and form; allauth's stages behind it."""

    template_name = "login.html"
    redirect_authenticated_user = False

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            **kwargs,
            provider=settings.OIDC_NAME if settings.OIDC_ISSUER else "",
            provider_id=settings.OIDC_ID,
        )

    def form_valid(self, form: Any) -> HttpResponse:
        user = form.get_user()
        record_authentication(self.request, user, "password", username=user.get_username())
        return perform_login(
            self.request, user, email_verification="none", redirect_url=self.get_success_url()
        )


def provider_login(request: HttpRequest) -> HttpResponseBase:
    """Leads to the identity provider, whose own description says where that is."""
    try:
        return to_provider(request, settings.OIDC_ID)
    except (requests.RequestException, KeyError):
        logger.exception("the identity provider does not say how to log in there")
        return render(request, "socialaccount/authentication_error.html", status=503)


class Account(IndexView):
    """How somebody logs in, and the keys that act in her name."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs, keys=keys_of(self.request.user))


class SetUp(ActivateTOTPView):
    """Whoever sets the second step up has taken it."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        required = settings.STAFF_TWO_STEP == "required" and is_staff(self.request.user)
        return super().get_context_data(**kwargs, required=required)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        note_second_step(self.request, self.request.user)
        return response
