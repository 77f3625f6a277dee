"""A job whose database is away for longer than a lease is for the next worker; it has not failed."""

from __future__ import annotations

import contextlib
import datetime as dt
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.utils import timezone

from studies.jobs import claims, running
from studies.jobs.work import Work
from studies.models import Event, Job
from tests.factories import make_small_study
from tests.jobs import steps  # noqa: F401 - its kind is known in this process, too


@pytest.fixture
def job(db, tmp_path, settings, monkeypatch):
    """A job that needs no time; cuts look as they do outside a test's own transaction."""
    settings.JOB_LEASE_SECONDS = 0.2
    (tmp_path / "go").touch()
    outside = SimpleNamespace(in_atomic_block=False, close=lambda: None)
    monkeypatch.setattr(running, "connection", outside)
    monkeypatch.setattr(Work, "beating", lambda self: contextlib.nullcontext())
    study = make_small_study(slug="demo")
    return claims.queue("steps", "default", study, {"folder": str(tmp_path)}, hand_over=False)


@pytest.mark.parametrize("cut", ["succeed", "claim"])
def test_the_job_goes_back_to_the_queue_and_is_done_once(job, monkeypatch, cut):
    def away(*words, **options):
        raise OperationalError("the database system is shutting down")

    with monkeypatch.context() as while_away:
        while_away.setattr(claims, cut, away)
        running.run_job(job.pk, "first")
    job.refresh_from_db()
    assert job.state == (Job.State.RUNNING if cut == "succeed" else Job.State.QUEUED)
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
        lease_until=timezone.now() - dt.timedelta(minutes=1)
    )
    claims.take_back()
    running.run_job(job.pk, "second")
    job.refresh_from_db()
    assert (job.state, job.error, job.worker) == (Job.State.SUCCEEDED, "", "second")
    assert Event.objects.filter(kind="steps").count() == 1
