"""Addresses of coming in and going out. Of allauth's only those that this site has pages for."""

from __future__ import annotations

from allauth.account.views import password_change, reauthenticate
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as totp
from allauth.socialaccount.providers.openid_connect.views import callback
from allauth.socialaccount.views import login_cancelled, login_error
from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.generic import RedirectView

from rlvram_site.logins.views import Account, Login, SetUp, provider_login

_second_step = [
    path("", Account.as_view(), name="mfa_index"),
    path("code/", mfa.authenticate, name="mfa_authenticate"),
    path("again/", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("set-up/", SetUp.as_view(), name="mfa_activate_totp"),
    path("end/", totp.deactivate_totp, name="mfa_deactivate_totp"),
    path("recovery-codes/", recovery.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("recovery-codes/new/", recovery.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("recovery-codes/file/", recovery.download_recovery_codes, name="mfa_download_recovery_codes"),
]

urlpatterns = [
    path("login/", Login.as_view(), name="account_login"),
    path("login/", Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="account_logout"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("account/password/again/", reauthenticate, name="account_reauthenticate"),
    path("account/password/", password_change, name="account_change_password"),
    path("account/second-step/", include(_second_step)),
    # allauth leads here after changes; there is no page of mail addresses and none to sign up.
    path("account/", RedirectView.as_view(pattern_name="mfa_index"), name="account_email"),
    path("login/provider/cancelled/", login_cancelled, name="socialaccount_login_cancelled"),
    path("login/provider/error/", login_error, name="socialaccount_login_error"),
    path("login/provider/login/", provider_login, name="openid_connect_login"),
    path(
        "login/provider/login/callback/",
        callback,
        {"provider_id": settings.OIDC_ID},
        name="openid_connect_callback",
    ),
]
