"""Following the ledger by the clock."""

from __future__ import annotations

from rlvram_site.celery import app
from search.indexing import follow

AT_ONCE = 20_000


@app.task(name="search.follow")
def follow_the_ledger() -> None:
    """Take in what was recorded since; a long import takes several turns."""
    follow(AT_ONCE)
