"""Whatever happens to a worker, its job ends exactly once, or fails with a reason."""

from __future__ import annotations

import os
import signal
import sqlite3
import time

from django.db import connection

from studies.jobs import claims
from studies.models import Job
from tests.jobs.conftest import LEASE, wait_for
from tests.processes import start_python


def test_a_killed_process_of_a_worker_loses_no_job(cluster):
    cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    os.kill(cluster.running_process(job), signal.SIGKILL)
    cluster.wait_until_running(job, claims=2)
    cluster.let_end()
    cluster.wait_until_ended(job)
    assert (job.state, job.claims, cluster.recorded) == (Job.State.SUCCEEDED, 2, 1)
    assert cluster.history(job) == ["queued", "claimed", "lost", "claimed", "succeeded"]


def test_a_killed_worker_loses_no_job(cluster):
    first = cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    for pid in [first.pid, *cluster.children(first)]:
        os.kill(pid, signal.SIGKILL)
    cluster.start_worker()
    cluster.let_end()
    cluster.wait_until_ended(job)
    assert (job.state, job.claims, cluster.recorded) == (Job.State.SUCCEEDED, 2, 1)


def test_a_job_that_loses_its_worker_again_and_again_fails_with_the_reason(cluster):
    cluster.start_worker(JOB_MAX_CLAIMS="2")
    job = cluster.queue()
    for claim in (1, 2):
        cluster.wait_until_running(job, claims=claim)
        os.kill(cluster.running_process(job), signal.SIGKILL)
    cluster.wait_until_ended(job)
    assert job.state == Job.State.FAILED
    assert job.error.startswith("Its worker was lost 2 times")
    assert cluster.recorded == 0


def test_a_worker_that_wakes_up_too_late_records_nothing(cluster):
    cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    sleeper = cluster.running_process(job)
    os.kill(sleeper, signal.SIGSTOP)
    cluster.start_worker()
    cluster.let_end()
    cluster.wait_until_ended(job)
    os.kill(sleeper, signal.SIGCONT)
    time.sleep(1)  # long enough for it to finish its step and try to record
    assert (job.state, job.claims, cluster.recorded) == (Job.State.SUCCEEDED, 2, 1)
    assert cluster.history(job).count("succeeded") == 1


def test_a_graceful_stop_lets_the_job_end_first(cluster):
    worker = cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    worker.send_signal(signal.SIGTERM)
    time.sleep(1)
    cluster.let_end()
    assert worker.wait(timeout=120) == 0
    job.refresh_from_db()
    assert (job.state, job.claims, cluster.recorded) == (Job.State.SUCCEEDED, 1, 1)


def test_redis_may_stop_and_start_in_mid_job(cluster):
    cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    cluster.redis.stop()
    # What is started meanwhile is kept, and says that it was not handed over.
    other = cluster.queue()
    assert cluster.history(other) == ["queued", "unsent"]
    cluster.redis.start()
    cluster.let_end()
    cluster.wait_until_ended(job)
    cluster.wait_until_ended(other)
    assert (job.state, job.claims) == (Job.State.SUCCEEDED, 1)
    assert other.state == Job.State.SUCCEEDED
    # The second had the same inputs, so it found the first's result.
    assert (other.earlier, cluster.recorded) == (job, 1)


def test_a_database_out_of_reach_for_a_moment_costs_nothing(cluster):
    cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    _cut_off_others(LEASE / 3)
    cluster.let_end()
    cluster.wait_until_ended(job)
    assert (job.state, cluster.recorded) == (Job.State.SUCCEEDED, 1)


def _cut_off_others(seconds: float) -> None:
    """End every other connection to the database, for so long; on SQLite its file is locked instead."""
    if connection.vendor == "sqlite":
        lock = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        lock.execute("ROLLBACK")
        lock.close()
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        time.sleep(0.05)
    connection.close()
    connection.close_pool()  # its idle connections were cut off, too


def test_a_task_that_is_delivered_twice_is_done_once(cluster):
    cluster.start_worker(concurrency=2)
    job = cluster.queue()
    cluster.wait_until_running(job)
    again = start_python(
        "-c",
        "import django; django.setup()\n"
        "from studies.jobs.sending import send\nfrom studies.models import Job\n"
        f"print(send(Job.objects.get(pk={job.pk})), send(Job.objects.get(pk={job.pk})))",
        **cluster.environment,
    )
    output, errors = again.communicate(timeout=120)
    assert output.strip() == "", errors
    cluster.let_end()
    cluster.wait_until_ended(job)
    assert (job.state, job.claims, cluster.recorded) == (Job.State.SUCCEEDED, 1, 1)


def test_of_two_workers_that_claim_at_once_one_gets_the_job(cluster):
    job = cluster.queue()
    claimants = [
        start_python("-m", "tests.jobs.claimant", str(job.pk), str(cluster.folder), **cluster.environment)
        for _ in range(3)
    ]
    wait_for(lambda: len(list(cluster.folder.glob("ready-*"))) == 3)
    (cluster.folder / "now").touch()
    said = sorted(claimant.communicate(timeout=120)[0].strip() for claimant in claimants)
    assert said == ["1", "nothing", "nothing"]
    assert cluster.history(job) == ["queued", "claimed"]


def test_a_running_job_stops_when_it_is_cancelled(cluster):
    cluster.start_worker()
    job = cluster.queue()
    cluster.wait_until_running(job)
    claims.cancel(job.pk)
    cluster.wait_until_ended(job)
    assert (job.state, cluster.recorded) == (Job.State.CANCELLED, 0)
    assert cluster.history(job) == ["queued", "claimed", "cancel_requested", "cancelled"]
