"""What ``manage.py check --database default`` finds about the database that the site runs on."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError

from rlvram_site.ledger.roles import ways_around


@register(Tags.database)
def site_role(app_configs: Any = None, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """A warning for each way in which the site's role could take the guard of recorded rows away."""
    found: list[CheckMessage] = []
    for using in databases or []:
        try:
            ways = ways_around(using)
        except DatabaseError:
            continue  # that it does not answer is said elsewhere
        hint = "Run the site as a role that grant_site_role has made; see docs/install.md."
        found += [
            Warning(f"The site could remove the guard: {way}.", hint=hint, id="rlvram.W001") for way in ways
        ]
    return found
