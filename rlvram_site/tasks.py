"""Tasks of the site itself."""

from __future__ import annotations

from rlvram_site.celery import app
from rlvram_site.ledger.checks import check_is_due, check_ledger


@app.task(name="ledger.check_when_due")
def check_ledger_when_due() -> None:
    """Walk the whole ledger, unless that was done within the last day."""
    if check_is_due():
        check_ledger()
