"""Addresses of single records: configurations, slots and their attempts, history, methods, pools.

The navigation knows these names and shows what exists: configurations, outcomes, history, methods (each with
the study's slug), configuration (study slug, configuration id), pool (slug), pool-configuration (slug, id).
"""

from __future__ import annotations

urlpatterns: list = []
