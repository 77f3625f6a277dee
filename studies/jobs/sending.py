"""Handing a job to the broker."""

from __future__ import annotations

from django.conf import settings
from kombu.exceptions import KombuError

from rlvram_site.celery import app
from studies.jobs.kinds import is_done_elsewhere
from studies.jobs.values import TASK
from studies.models import Job

GRACE_SECONDS = 60
"""Between the limit at which a job is told to stop and the one at which its process is killed."""


def send(job: Job) -> str:
    """Give the job to its queue. Returns why that failed, empty when it did not."""
    limits = {
        "soft_time_limit": settings.JOB_TIME_LIMIT_SECONDS,
        "time_limit": settings.JOB_TIME_LIMIT_SECONDS + GRACE_SECONDS,
    }
    if is_done_elsewhere(job.kind):
        return ""  # its host asks for it
    try:
        app.send_task(TASK, args=[job.pk], queue=job.queue, retry=False, **limits)
    except (KombuError, OSError) as error:
        return f"the broker did not take it ({type(error).__name__}); it is handed over again later"
    return ""
