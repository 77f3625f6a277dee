"""Addresses under ``/api/v1/``."""

from __future__ import annotations

from django.urls import include, path

from rlvram_site.api import views

urlpatterns = [
    path("", views.Index.as_view(), name="api-index"),
    path("schema/", views.Schema.as_view(), name="api-schema"),
    path("docs/", views.Docs.as_view(), name="api-docs"),
    path("", include("studies.api.urls")),
    path("<path:path>", views.unknown_address),
]
