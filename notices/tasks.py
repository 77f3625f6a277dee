"""Celery tasks of the notifications."""

from __future__ import annotations

from notices.evidence import watch_evidence
from notices.sending import deliver_due
from notices.watching import watch
from rlvram_site.celery import app

BUDGET_SECONDS = 60
"""A worker that sends gives others their turn after this long; the next call goes on."""


@app.task(name="notices.tell")
def tell() -> None:
    """Find what changed and send what is due. Any number of workers may do so at any time."""
    watch()
    watch_evidence()
    deliver_due(seconds=BUDGET_SECONDS)
