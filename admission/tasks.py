"""Celery tasks of memory admission."""

from __future__ import annotations

import logging

from kombu.exceptions import KombuError

from admission.sync import following
from admission.sync.forge import Forge
from rlvram_site.celery import app

logger = logging.getLogger(__name__)
SYNC_TASK = "admission.sync_due"
BUDGET_SECONDS = 60
"""A worker that reads from the forge gives others their turn after this long; the next call goes on."""


@app.task(name=SYNC_TASK)
def sync_due() -> None:
    """Read what is due. What fails is kept with its reason and tried again later."""
    following.sync_due(Forge(), seconds=BUDGET_SECONDS)


def schedule_sync() -> None:
    """Let a worker look now. If the broker does not take it, the clock's next call does the same."""
    try:
        app.send_task(SYNC_TASK, retry=False, expires=BUDGET_SECONDS)
    except (KombuError, OSError) as error:
        logger.warning("a sync could not be handed over: %s", error)
