"""Celery tasks of the studies. A message carries a job's id and nothing else."""

from __future__ import annotations

from rlvram_site.celery import app
from studies.jobs import claims
from studies.jobs.running import run_job
from studies.jobs.values import TASK


@app.task(name=TASK)
def run(job_id: int) -> None:
    """Run a job. Delivered again, late or to somebody else, it does nothing that was done already."""
    run_job(job_id)


@app.task(name="jobs.take_back")
def take_back() -> None:
    """Take jobs back from workers that are lost, and hand over again what the broker may have lost."""
    claims.take_back()
