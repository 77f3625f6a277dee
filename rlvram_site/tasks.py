"""Tasks of the site itself."""

from __future__ import annotations

import logging

from rlvram_site.celery import app
from rlvram_site.ledger.checks import check_is_due, check_ledger
from rlvram_site.witness.stamping import witness_what_is_due

_log = logging.getLogger(__name__)


@app.task(name="ledger.check_when_due")
def check_ledger_when_due() -> None:
    """Walk the whole ledger, unless that was done within the last day."""
    if check_is_due():
        check_ledger()


@app.task(name="witness.ask")
def ask_witnesses() -> None:
    """Have new seals stamped, and once a day the heads stamped and signed; what fails is tried again."""
    for problem in witness_what_is_due():
        _log.warning("a time stamp is missing: %s", problem)
