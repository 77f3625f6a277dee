"""Past the append-only triggers: for the test runner's clean-up, and for tests that play the forger."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.db import connection

from rlvram_site.ledger.triggers import install, uninstall


@contextlib.contextmanager
def without_triggers() -> Iterator[None]:
    """Recorded rows can be changed and deleted inside."""
    if connection.vendor == "postgresql":
        _execute("SET session_replication_role = replica")
    else:
        uninstall()
    try:
        yield
    finally:
        if connection.vendor == "postgresql":
            _execute("SET session_replication_role = DEFAULT")
        else:
            install()


def _execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
