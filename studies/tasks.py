"""Celery tasks of the studies. A message carries a job's id and nothing else."""

from __future__ import annotations

import datetime as dt
import logging

from django.conf import settings

from rlvram_site.celery import app
from studies.jobs import claims
from studies.jobs.running import run_job
from studies.jobs.values import TASK
from studies.services.outcomes.evidence_checks import check_what_is_due
from studies.services.outcomes.evidence_leftovers import collect

CHECK_SECONDS = 2700
"""So long one task makes hashes anew; the next goes on. Less than a task may take."""

logger = logging.getLogger(__name__)


@app.task(name=TASK)
def run(job_id: int) -> None:
    """Run a job. Delivered again, late or to somebody else, it does nothing that was done already."""
    run_job(job_id)


@app.task(name="jobs.take_back")
def take_back() -> None:
    """Take jobs back from workers that are lost, and hand over again what the broker may have lost."""
    claims.take_back()


@app.task(name="evidence.check_when_due")
def check_evidence() -> None:
    """Make the hashes of stored evidence anew that were not checked for ``EVIDENCE_CHECK_DAYS``."""
    check_what_is_due(CHECK_SECONDS)


@app.task(name="evidence.collect")
def collect_evidence() -> None:
    """Remove stored files that no record names."""
    for line in collect(dt.timedelta(hours=settings.EVIDENCE_GRACE_HOURS)):
        logger.info("removed: %s", line)
