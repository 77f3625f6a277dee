"""Addresses of the studies. ``urls_records`` has those that go down to one configuration, slot or pool."""

from __future__ import annotations

from django.urls import include, path

from studies.views import costs, events, home, hosts, overview, pairs, protocol, unscored

study_patterns = [
    path("", overview.overview, name="study"),
    path("unscored/", unscored.unscored, name="unscored"),
    path("protocol/", protocol.protocol, name="protocol"),
    path("pairs/", pairs.pairs, name="pairs"),
    path("costs/", costs.costs, name="costs"),
    path("events/", events.events, name="events"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("begin/samples/", home.load_samples, name="load-samples"),
    path("studies/<slug:slug>/", include(study_patterns)),
    path("transfer/", include("studies.urls_transfer")),
    path("jobs/", include("studies.urls_jobs")),
    path("hosts/", hosts.hosts, name="hosts"),
    path("hosts/<slug:name>/", hosts.host, name="host"),
    path("", include("studies.urls_records")),
]
