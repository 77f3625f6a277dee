"""Addresses of single records: configurations, slots and their attempts, history, methods, pools.

The navigation knows these names and shows what exists: configurations, outcomes, history, methods (each with
the study's slug), configuration (study slug, configuration id), pool (slug), pool-configuration (slug, id).
"""

from __future__ import annotations

from django.urls import include, path, register_converter
from django.urls.converters import PathConverter

from studies.views import configuration, configurations, history, methods, outcomes, pool


class RecordName(PathConverter):
    """A record's own name: any text with slashes, but without the one character PostgreSQL can't look for."""

    regex = r"[^\x00]+"


register_converter(RecordName, "name")

study_patterns = [
    path("configurations/", configurations.configurations, name="configurations"),
    path("configurations.csv", configurations.configurations_csv, name="configurations-csv"),
    path("configurations/<name:configuration_id>/", configuration.configuration, name="configuration"),
    path("outcomes/", outcomes.outcomes, name="outcomes"),
    path("slots/<name:experiment_id>/", outcomes.slot, name="slot"),
    path("attempts/<name:invocation_id>/", outcomes.attempt, name="attempt"),
    path("history/", history.history, name="history"),
    path("methods/", methods.methods, name="methods"),
]

pool_patterns = [
    path("", pool.pool, name="pool"),
    path("configurations/", pool.pool_configurations, name="pool-configurations"),
    path("configurations.csv", pool.pool_configurations_csv, name="pool-configurations-csv"),
    path(
        "configurations/<name:configuration_id>/",
        configuration.pool_configuration,
        name="pool-configuration",
    ),
]

urlpatterns = [
    path("studies/<slug:slug>/", include(study_patterns)),
    path("pools/<slug:slug>/", include(pool_patterns)),
]
