"""Handing a job to the broker."""

from __future__ import annotations

from django.conf import settings
from kombu.exceptions import KombuError

from rlvram_site.celery import app
from studies.jobs.errors import JobRefused
from studies.jobs.kinds import kind_of
from studies.models import Job
from studies.services.errors import ServiceError

GRACE_SECONDS = 60
"""Between the limit at which a job is told to stop and the one at which its process is killed."""


def send(job: Job) -> str:
    """Give the job to its queue. Returns why that failed, empty when it did not."""
    kind = kind_of(job.kind)
    limits = {
        "soft_time_limit": settings.JOB_TIME_LIMIT_SECONDS,
        "time_limit": settings.JOB_TIME_LIMIT_SECONDS + GRACE_SECONDS,
    }
    try:
        task, arguments = kind.message(job)
        # What a host runs has wall limits of its own.
        app.send_task(task, args=arguments, queue=job.queue, retry=False, **({} if kind.remote else limits))
    except (JobRefused, ServiceError) as error:
        return f"it cannot be handed over: {error}"
    except (KombuError, OSError) as error:
        return f"the broker did not take it ({type(error).__name__}); it is handed over again later"
    return ""
