"""Real workers on a real Redis, with leases short enough to wait for."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from studies.models import Event, Job, JobEvent
from tests.factories import make_small_study
from tests.jobs import steps  # noqa: F401 - its kind is known in this process, too
from tests.processes import start_python

LEASE = 3
PATIENCE = 120
"""Seconds after which a test gives up. Nothing here is timed; a busy machine only takes longer."""


def wait_for(what: Callable[[], object], why: str = "") -> None:
    """Look again and again until it is so."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, f"waited in vain: {why or what}"
        time.sleep(0.05)


class Redis:
    """A redis-server of our own that can be stopped and started; its messages survive."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        server = shutil.which("redis-server")
        assert server, "redis-server is missing; ./test installs it"
        self.process = subprocess.Popen(
            [server, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
             "--appendonly", "yes", "--appendfsync", "always"],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_for(self._answers, "redis-server")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
        return False

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.process = None


class Cluster:
    """Redis, workers, and a study whose events show what jobs recorded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.redis = Redis(folder)
        self.study = make_small_study(slug="demo")
        self.workers: list[subprocess.Popen[str]] = []
        self.environment = {
            "BROKER_URL": self.redis.url,
            "DATA_DIR": str(folder / "data"),
            "C_FORCE_ROOT": "1",
            "JOB_LEASE_SECONDS": str(LEASE),
            "JOB_TAKE_BACK_SECONDS": "1",
            "JOB_RESEND_SECONDS": "2",
        }

    def start_worker(self, concurrency: int = 1, **environment: str) -> subprocess.Popen[str]:
        number = len(self.workers)
        # Into a file: nobody reads a pipe while the test runs, and a full one would stop the worker.
        log = (self.folder / f"worker-{number}.log").open("w")
        worker = start_python(
            "-m", "celery", "--app", "rlvram_site", "--quiet", "worker", "--include", "tests.jobs.steps",
            "--concurrency", str(concurrency), "--hostname", f"worker{number}@test", "--beat",
            "--schedule", str(self.folder / f"schedule-{number}"), "--loglevel", "error",
            output=log,
            **{**self.environment, **environment},
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def queue(self) -> Job:
        """A job that runs until ``let_end``."""
        started = start_python(
            "-m", "tests.jobs.queue_steps", self.study.slug, str(self.folder), **self.environment
        )
        number, errors = started.communicate(timeout=PATIENCE)
        assert started.returncode == 0, errors
        return Job.objects.get(pk=int(number))

    def let_end(self) -> None:
        """Jobs of steps may now record and end."""
        (self.folder / "go").touch()

    def wait_until_running(self, job: Job, claims: int = 1) -> None:
        def runs() -> bool:
            job.refresh_from_db()
            return job.claims >= claims and job.state == Job.State.RUNNING and job.total > 0

        wait_for(runs, f"{job} running")

    def wait_until_ended(self, job: Job) -> None:
        def ended() -> bool:
            job.refresh_from_db()
            return job.ended

        wait_for(ended, f"{job} ended")

    @property
    def recorded(self) -> int:
        return Event.objects.filter(study=self.study).count()

    def history(self, job: Job) -> list[str]:
        return list(JobEvent.objects.filter(job=job).order_by("pk").values_list("what", flat=True))

    def children(self, worker: subprocess.Popen[str]) -> list[int]:
        text = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text()
        return [int(pid) for pid in text.split()]

    def running_process(self, job: Job) -> int:
        """The process that the job's row names."""
        return int(job.worker.rpartition(" ")[2])

    def close(self) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                for pid in self.children(worker):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                worker.kill()
            worker.wait()
        self.redis.stop()


@pytest.fixture
def cluster(transactional_db, tmp_path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.redis.start()
    try:
        yield made
    finally:
        made.close()
        if connection.vendor == "postgresql":
            # A killed worker's connection ends a moment later; the flush after the test must not meet it.
            wait_for(_alone, "connections of killed workers")


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        return cursor.fetchone()[0] == 0
