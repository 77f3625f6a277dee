"""Addresses of the studies. ``urls_records`` has those that go down to one configuration, slot or pool."""

from __future__ import annotations

from django.urls import include, path

from studies.views import home, overview

study_patterns = [
    path("", overview.overview, name="study"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("studies/<slug:slug>/", include(study_patterns)),
    path("", include("studies.urls_records")),
]
