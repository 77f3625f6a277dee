"""Addresses under ``/api/v1/``."""

from __future__ import annotations

from django.urls import include, path, register_converter

from rlvram_site.api import views
from rlvram_site.api.witnesses import Witnesses


class Anything:
    """Whatever else, in any spelling, line feeds included."""

    regex = r"[\s\S]*"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(Anything, "anything")

urlpatterns = [
    path("", views.Index.as_view(), name="api-index"),
    path("schema/", views.Schema.as_view(), name="api-schema"),
    path("docs/", views.Docs.as_view(), name="api-docs"),
    path("witnesses/", Witnesses.as_view(), name="api-witnesses"),
    path("search/", include("search.api_urls")),
    path("", include("studies.api.urls")),
    path("admission/", include("admission.api.urls")),
    path("<anything:address>", views.unknown_address),
]
