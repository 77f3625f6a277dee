"""Running one job in this process: claim it, find or compute its result, end it."""

from __future__ import annotations

import logging
import os
import platform
import socket
import time
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TypeVar

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import acting
from studies.jobs import claims, kinds
from studies.jobs.errors import Cancelled, DatabaseAway, JobFailed, JobRefused, LostClaim
from studies.jobs.work import Work
from studies.models import Job
from studies.services.errors import UNREADABLE

_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "django", "celery")


def this_process() -> str:
    """Names this process for a person: host and process id."""
    return f"{socket.gethostname()} process {os.getpid()}"


def run_environment() -> dict[str, Any]:
    """Library versions, threads and platform of this process."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "threads": os.environ.get("OMP_NUM_THREADS", "not limited"),
        **{name: version(name) for name in LIBRARIES},
    }


def run_job(job_id: int, worker: str = "") -> None:
    """Run the job unless somebody else holds it or it has ended. What goes wrong ends up in its row.

    A job whose database stays away is let go: its lease ends, and whoever finds that queues it again.
    """
    try:
        _run_job(job_id, worker or this_process())
    except DatabaseAway as error:
        _log.warning("job %s is let go and will be queued again: %s", job_id, error)


def _run_job(job_id: int, worker: str) -> None:
    claim = through_cuts(lambda: claims.claim(job_id, worker))
    if claim is None:
        return
    job = through_cuts(lambda: Job.objects.select_related("study__pool", "study__parent").get(pk=job_id))
    work = Work(job, claim, claims.beat)
    environment = run_environment()
    with acting(f"job {job.pk} of {job.created_by}"[:200]), work.beating():
        try:
            _run(work, environment)
        except LostClaim:
            return
        except DatabaseAway:
            raise
        except Cancelled:
            through_cuts(lambda: claims.stop(claim, work.progress, environment))
        except Exception as error:
            # Whatever it was, the job must not stay "running"; the log keeps what a developer needs.
            reason = _reason(error)
            if not reason:
                work.say(traceback.format_exc())
                reason = f"An error that nobody expected ({type(error).__name__}); the log shows where."
            through_cuts(lambda: claims.fail(claim, reason, work.progress, environment))


def _reason(error: Exception) -> str:
    """The error's own words if they are meant for a person, else empty."""
    if isinstance(error, SoftTimeLimitExceeded):
        return f"It ran longer than {settings.JOB_TIME_LIMIT_SECONDS} s, the limit of one job."
    if isinstance(error, (*UNREADABLE, JobFailed, JobRefused)):
        return str(error)
    return ""


def _run(work: Work, environment: dict[str, Any]) -> None:
    job, kind = work.job, kinds.worker_kind_of(work.job.kind)
    inputs = through_cuts(lambda: kind.inputs(work))
    key = digest({"kind": kind.name, "inputs": inputs})
    earlier = None if job.afresh else through_cuts(lambda: find_earlier(job, key))
    if earlier is not None:
        through_cuts(lambda: claims.find(work.claim, earlier, key, environment))
        return
    computed = through_cuts(lambda: kind.compute(work))
    environment |= kind.environment(computed)
    through_cuts(
        lambda: claims.succeed(
            work.claim,
            lambda: kind.record(work, computed),
            progress=work.progress,
            input_sha256=key,
            environment=environment,
        )
    )


def find_earlier(job: Job, key: str) -> Job | None:
    """The newest job of the same kind that computed a result from the same inputs."""
    done = Job.objects.filter(kind=job.kind, input_sha256=key, state=Job.State.SUCCEEDED, earlier=None)
    return done.exclude(pk=job.pk).order_by("-pk").first()


def through_cuts(what: Callable[[], Answer]) -> Answer:
    """Do ``what``; while the database cannot be reached, try again until a lease's time is over.

    ``what`` writes in one transaction or not at all, so that doing it again is safe. Raises ``DatabaseAway``
    when that time is over.
    """
    give_up = time.monotonic() + settings.JOB_LEASE_SECONDS
    wait = 0.1
    while True:
        try:
            return what()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block:
                raise
            if time.monotonic() + wait > give_up:
                raise DatabaseAway(f"no database for {settings.JOB_LEASE_SECONDS} s ({error})") from error
            connection.close()
            time.sleep(wait)
            wait = min(wait * 2, 5)
