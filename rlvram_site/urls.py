"""Addresses of the whole site; each app keeps its own."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from rlvram_site import health

urlpatterns = [
    path("health/live/", health.live, name="health-live"),
    path("health/ready/", health.ready, name="health-ready"),
    path("health/ledger/", health.ledger, name="health-ledger"),
    path("login/", LoginView.as_view(template_name="login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("rlvram_site.api.urls")),
    path("admission/", include("admission.urls")),
    path("", include("studies.urls")),
]
