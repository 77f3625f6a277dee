"""The one place that changes a job's row: queue, claim, beat, end, cancel, retry, and take back.

Every change is one UPDATE that names the state (and for a holder the fence) it expects; whoever comes second
changes no row. Leases are measured by the database's clock, so that hosts need not agree on the time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet, Value
from django.db.models.fields import DateTimeField
from django.db.models.functions import Now

from rlvram_site.ledger.canonical import canonical, digest
from rlvram_site.ledger.chain import current_actor
from studies.jobs.errors import JobRefused, LostClaim
from studies.jobs.sending import send
from studies.jobs.values import Claim, JobOutput, Progress
from studies.models import Job, JobEvent, JobResult, Study

State, What = Job.State, JobEvent.What
MAX_TEXT = 500


def _from_now(seconds: float) -> ExpressionWrapper:
    """``seconds`` from now, by the database's clock."""
    return ExpressionWrapper(
        Now() + Value(dt.timedelta(seconds=seconds), output_field=DurationField()),
        output_field=DateTimeField(),
    )


def _lease_end() -> ExpressionWrapper:
    return _from_now(settings.JOB_LEASE_SECONDS)


def _note(job_id: int, fence: int, what: str, text: str = "", actor: str = "") -> None:
    JobEvent(
        job_id=job_id, fence=fence, what=what, text=text[:MAX_TEXT], actor=actor or current_actor()
    ).save()


def queue(
    kind: str, queue_name: str, study: Study | None, parameters: dict[str, Any], *, afresh: bool = False,
    rerun_of: Job | None = None, hand_over: bool = True,
) -> Job:  # fmt: skip
    """Record a new job; its id goes to the broker once that is committed.

    ``hand_over`` False keeps it from the broker at first: the caller runs it at once, in its own process.
    """
    with transaction.atomic():
        job = Job.objects.create(
            kind=kind, queue=queue_name, study=study, parameters=parameters, afresh=afresh,
            rerun_of=rerun_of, created_by=current_actor(),
        )  # fmt: skip
        _note(job.pk, 0, What.QUEUED, f"rerun of job {rerun_of.pk}" if rerun_of else "")
        if hand_over:
            transaction.on_commit(lambda: hand_over_now(job))
    return job


def hand_over_now(job: Job) -> None:
    """Give the job's id to the broker; if that fails, it is given again by ``take_back``."""
    problem = send(job)
    if problem:
        # Tried again and again, it is said once.
        last = JobEvent.objects.filter(job=job).order_by("-pk").values_list("what", "text").first()
        if last != (What.UNSENT, problem[:MAX_TEXT]):
            _note(job.pk, job.fence, What.UNSENT, problem)
    else:
        Job.objects.filter(pk=job.pk).update(sent_at=Now())


def claim(job_id: int, worker: str) -> Claim | None:
    """Take a waiting job. None: it does not exist, it ended, or somebody else holds it."""
    with transaction.atomic():
        lapsed = Job.objects.filter(pk=job_id, state=State.RUNNING, lease_until__lt=Now()).first()
        if lapsed is not None:
            _release(lapsed, hand_over=False)
        taken = Job.objects.filter(pk=job_id, state=State.QUEUED).update(
            state=State.RUNNING, fence=F("fence") + 1, claims=F("claims") + 1, lease_until=_lease_end(),
            worker=worker[:200], started_at=Now(), finished_at=None, done=0, total=0, sentence="", log="",
            error="", environment={},
        )  # fmt: skip
        if not taken:
            return None
        fence = Job.objects.values_list("fence", flat=True).get(pk=job_id)
        _note(job_id, fence, What.CLAIMED, worker)
    return Claim(job_id, fence)


def held(claim: Claim) -> QuerySet[Job]:
    """The claim's row, as long as the claim holds."""
    return Job.objects.filter(pk=claim.job_id, fence=claim.fence, state=State.RUNNING)


def beat(claim: Claim, progress: Progress) -> bool:
    """Extend the lease and say how far the job is. True: somebody asked for it to stop.

    Raises ``LostClaim`` when somebody else holds the job, or it has ended.
    """
    changed = held(claim).update(
        lease_until=_lease_end(), done=progress.done, total=progress.total,
        sentence=progress.sentence[:300], log=progress.log,
    )  # fmt: skip
    if not changed:
        raise LostClaim(f"job {claim.job_id} is not held any more")
    return Job.objects.values_list("cancel_requested", flat=True).get(pk=claim.job_id)


def succeed(
    claim: Claim, record: Callable[[], JobOutput], *, progress: Progress, input_sha256: str,
    environment: dict[str, Any],
) -> None:  # fmt: skip
    """Let ``record`` write what the job records, and end the job, both or neither.

    Calling it again after a lost answer from the database is safe: the first call's end is then found.
    Raises ``LostClaim`` when the job is not held any more; then nothing was recorded.
    """
    with transaction.atomic():
        if Job.objects.filter(pk=claim.job_id, fence=claim.fence, state=State.SUCCEEDED).exists():
            return
        outcome = record()
        ended = held(claim).update(
            state=State.SUCCEEDED, finished_at=Now(), lease_until=None, done=progress.total,
            total=progress.total, sentence=outcome.sentence[:300], log=progress.log,
            input_sha256=input_sha256, environment=environment,
        )  # fmt: skip
        if not ended:
            raise LostClaim(f"job {claim.job_id} is not held any more")
        document = canonical(outcome.document)
        JobResult(
            job_id=claim.job_id, sentence=outcome.sentence[:MAX_TEXT], links=outcome.links,
            document=document, sha256=digest(document),
        ).save()  # fmt: skip
        _note(claim.job_id, claim.fence, What.SUCCEEDED, outcome.sentence)


def find(claim: Claim, earlier: Job, input_sha256: str, environment: dict[str, Any]) -> None:
    """End the job with the result of an earlier one that had the same inputs."""
    text = f"The inputs are those of job {earlier.pk}; its result holds."
    with transaction.atomic():
        ended = held(claim).update(
            state=State.SUCCEEDED, finished_at=Now(), lease_until=None, done=1, total=1, sentence=text,
            earlier=earlier, input_sha256=input_sha256, environment=environment,
        )  # fmt: skip
        if ended:
            _note(claim.job_id, claim.fence, What.FOUND, text)


def fail(claim: Claim, error: str, progress: Progress, environment: dict[str, Any]) -> None:
    """End the job without a result; ``error`` is for a person."""
    _end(claim, State.FAILED, What.FAILED, error, progress, environment)


def stop(claim: Claim, progress: Progress, environment: dict[str, Any]) -> None:
    """End the job because somebody asked for it."""
    _end(claim, State.CANCELLED, What.CANCELLED, "", progress, environment)


def _end(
    claim: Claim, state: str, what: str, error: str, progress: Progress, environment: dict[str, Any]
) -> None:
    with transaction.atomic():
        ended = held(claim).update(
            state=state, finished_at=Now(), lease_until=None, done=progress.done, total=progress.total,
            sentence=progress.sentence[:300], log=progress.log, error=error, environment=environment,
        )  # fmt: skip
        if ended:
            _note(claim.job_id, claim.fence, what, error)


def cancel(job_id: int) -> None:
    """Stop a job: at once while it waits, at its next step while it runs.

    Raises ``JobRefused`` when it has ended already.
    """
    with transaction.atomic():
        if Job.objects.filter(pk=job_id, state=State.QUEUED).update(
            state=State.CANCELLED, finished_at=Now(), fence=F("fence") + 1
        ):
            _note(job_id, _fence(job_id), What.CANCELLED)
        elif Job.objects.filter(pk=job_id, state=State.RUNNING).update(cancel_requested=True):
            _note(job_id, _fence(job_id), What.CANCEL_REQUESTED)
        else:
            raise JobRefused("", f"Job {job_id} has ended; there is nothing to cancel.")


def retry(job_id: int) -> None:
    """Queue a job again that failed or was cancelled.

    Raises ``JobRefused`` in any other state.
    """
    with transaction.atomic():
        again = Job.objects.filter(pk=job_id, state__in=[State.FAILED, State.CANCELLED]).update(
            state=State.QUEUED, fence=F("fence") + 1, claims=0, cancel_requested=False, error="",
            worker="", lease_until=None, started_at=None, finished_at=None, sent_at=None, done=0, total=0,
            sentence="", log="",
        )  # fmt: skip
        if not again:
            raise JobRefused(
                "", f"Job {job_id} neither failed nor was cancelled; it can be run anew instead."
            )
        _note(job_id, _fence(job_id), What.RETRIED)
        job = Job.objects.get(pk=job_id)
        transaction.on_commit(lambda: hand_over_now(job))


def _fence(job_id: int) -> int:
    return Job.objects.values_list("fence", flat=True).get(pk=job_id)


def take_back() -> list[int]:
    """Queue or fail every job whose lease ended, and hand waiting ones over again whose message may be lost.

    Returns the ids of the jobs that were taken back. Any number of processes may call it at any time.
    """
    taken = [
        job.pk
        for job in Job.objects.filter(state=State.RUNNING, lease_until__lt=Now())
        if _release(job, hand_over=True)
    ]
    waiting = Job.objects.filter(
        Q(sent_at__lt=_from_now(-settings.JOB_RESEND_SECONDS))
        | Q(sent_at=None, created_at__lt=_from_now(-settings.JOB_LEASE_SECONDS)),
        state=State.QUEUED,
    )
    for job in waiting:
        hand_over_now(job)
    return taken


def _release(job: Job, *, hand_over: bool) -> bool:
    """Take a job from a worker whose lease ended. False: somebody else did, or the worker was heard of."""
    text = f"{job.worker} was not heard of for {settings.JOB_LEASE_SECONDS} s"
    if job.cancel_requested:
        change, what = {"state": State.CANCELLED, "finished_at": Now()}, What.CANCELLED
    elif job.claims >= settings.JOB_MAX_CLAIMS:
        text = f"Its worker was lost {job.claims} times, the last time {text}."
        change, what = {"state": State.FAILED, "finished_at": Now(), "error": text}, What.FAILED
    else:
        change, what = {"state": State.QUEUED, "sent_at": None}, What.LOST
    with transaction.atomic():
        released = Job.objects.filter(
            pk=job.pk, fence=job.fence, state=State.RUNNING, lease_until__lt=Now()
        ).update(fence=F("fence") + 1, lease_until=None, **change)
        if not released:
            return False
        _note(job.pk, job.fence + 1, what, text)
        if hand_over and what == What.LOST:
            transaction.on_commit(lambda: hand_over_now(job))
    return True
