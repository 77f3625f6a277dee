"""Addresses of single records: configurations, slots and their attempts, history, methods, pools.

The navigation knows these names and shows what exists: configurations, outcomes, history, methods (each with
the study's slug), configuration (study slug, configuration id), pool (slug), pool-configuration (slug, id).
"""

from __future__ import annotations

from django.urls import include, path

from studies.views import configuration, configurations, history, methods, outcomes, pool

study_patterns = [
    path("configurations/", configurations.configurations, name="configurations"),
    path("configurations.csv", configurations.configurations_csv, name="configurations-csv"),
    path("configurations/<path:configuration_id>/", configuration.configuration, name="configuration"),
    path("outcomes/", outcomes.outcomes, name="outcomes"),
    path("slots/<path:experiment_id>/", outcomes.slot, name="slot"),
    path("attempts/<path:invocation_id>/", outcomes.attempt, name="attempt"),
    path("history/", history.history, name="history"),
    path("methods/", methods.methods, name="methods"),
]

pool_patterns = [
    path("", pool.pool, name="pool"),
    path("configurations/", pool.pool_configurations, name="pool-configurations"),
    path("configurations.csv", pool.pool_configurations_csv, name="pool-configurations-csv"),
    path(
        "configurations/<path:configuration_id>/",
        configuration.pool_configuration,
        name="pool-configuration",
    ),
]

urlpatterns = [
    path("studies/<slug:slug>/", include(study_patterns)),
    path("pools/<slug:slug>/", include(pool_patterns)),
]
