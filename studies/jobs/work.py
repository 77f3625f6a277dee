"""What a job's code sees of its job: its parameters, and how to say how far it is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from studies.jobs.errors import Cancelled, JobFailed, LostClaim
from studies.jobs.values import Claim, Progress
from studies.models import Job, Study

LOG_LINES = 200
TICK_SECONDS = 0.5


class Work:
    """One run of a job. ``step`` is the only thing that its code has to call.

    ``beat`` extends the claim and shows the progress; it says whether somebody asked for the job to stop.
    """

    def __init__(self, job: Job, claim: Claim, beat: Callable[[Claim, Progress], bool]) -> None:
        self.job = job
        self.claim = claim
        self._beat = beat
        self.parameters: dict[str, Any] = job.parameters
        self._progress = Progress()
        self._lines: list[str] = []
        self._lock = threading.Lock()
        self._cancelled = False
        self._lost = False

    @property
    def study(self) -> Study:
        """The job's study.

        Raises ``JobFailed`` if it has none.
        """
        if self.job.study is None:
            raise JobFailed(f"job {self.job.pk} names no study")
        return self.job.study

    @property
    def progress(self) -> Progress:
        with self._lock:
            return replace(self._progress, log="\n".join(self._lines))

    def step(self, done: int, total: int, sentence: str) -> None:
        """Say how far the job is.

        Raises ``Cancelled`` if somebody asked for it to stop, ``LostClaim`` if somebody else holds it.
        """
        self.say(f"{done} of {total}: {sentence}")
        with self._lock:
            self._progress = Progress(done, total, sentence)
        if self._lost:
            raise LostClaim(f"job {self.job.pk} is not held any more")
        if self._cancelled:
            raise Cancelled(f"job {self.job.pk}")

    def say(self, text: str) -> None:
        """Add to the job's log; only its end is kept."""
        moment = f"{timezone.now():%Y-%m-%d %H:%M:%S}"
        with self._lock:
            self._lines += [f"{moment} {line}" for line in text.splitlines()]
            del self._lines[:-LOG_LINES]

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Keep the claim alive, and the progress visible, while the code inside works."""
        ended = threading.Event()
        thread = threading.Thread(target=self._beat_until, args=[ended], name="job-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _beat_until(self, ended: threading.Event) -> None:
        shown = Progress()
        wait = min(TICK_SECONDS, settings.JOB_LEASE_SECONDS / 6)
        beats_between = max(1, round(settings.JOB_LEASE_SECONDS / 4 / wait))
        since = beats_between
        try:
            while not ended.wait(wait):
                since += 1
                now = self.progress
                if now == shown and since < beats_between:
                    continue
                try:
                    self._cancelled = self._beat(self.claim, now)
                except LostClaim:
                    self._lost = True
                    return
                except DatabaseError:
                    # Cut off for a moment; as long as the lease lasts, the next beat can still make it.
                    connection.close()
                    continue
                shown, since = now, 0
        finally:
            connection.close()
