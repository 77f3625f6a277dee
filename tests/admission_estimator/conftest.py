"""Properties are about values, so none of them fails because a machine is busy."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("values", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("values")
