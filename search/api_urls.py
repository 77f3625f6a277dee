"""The search's address under ``/api/v1/search/``."""

from __future__ import annotations

from django.urls import path

from search.views import Search

urlpatterns = [path("", Search.as_view(), name="api-search")]
