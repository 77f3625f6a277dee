"""What a server looks at before it answers: whether the database still refuses changes of recorded rows."""

from __future__ import annotations

import logging

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection

from rlvram_site.ledger.roles import ways_around
from rlvram_site.ledger.triggers import missing

_log = logging.getLogger(__name__)


def require_guard() -> None:
    """Raises ``ImproperlyConfigured`` if a trigger is missing or changed; a silent database is waited for."""
    try:
        problems = missing()
        for way in ways_around():
            _log.warning("the site could remove the guard of recorded rows: %s; see docs/install.md", way)
    except DatabaseError:
        _log.exception("the database does not answer, so its triggers were not checked")
        return
    if problems:
        raise ImproperlyConfigured(
            f"the database does not refuse changes of recorded rows, because of {len(problems)} triggers; "
            f"the first: {problems[0]}. manage.py verify_ledger says what was changed meanwhile, "
            "manage.py migrate installs them again"
        )


def before_serving() -> None:
    """``require_guard``, and nothing kept open: a server that loads the site and then forks would hand one
    connection to all its workers."""
    try:
        require_guard()
    finally:
        connection.close()
        if connection.vendor == "postgresql":
            connection.close_pool()  # type: ignore[attr-defined]
