"""A kind of job for the tests: it works in steps until a file appears, then records one event."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from studies.jobs.kinds import register
from studies.jobs.kinds.base import Parameter, WorkerKind
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Event

TOTAL = 1_000_000


@register
class Steps(WorkerKind):
    name = "steps"
    title = "Steps"
    parameters = {"folder": Parameter("a folder for its files", needed=True)}

    def inputs(self, work: Work) -> Any:
        return {"folder": work.parameters["folder"]}

    def compute(self, work: Work) -> None:
        folder = Path(work.parameters["folder"])
        (folder / f"began-{work.claim.fence}").touch()
        for done in range(TOTAL):
            work.step(done, TOTAL, f"step {done}")
            if (folder / "go").exists():
                return
            time.sleep(0.05)

    def record(self, work: Work, computed: None) -> JobOutput:
        position = Event.objects.filter(study=work.study).count()
        Event(
            study=work.study, position=position, kind="steps", status=Event.Status.NOTED, title="recorded"
        ).save()
        return JobOutput("Recorded an event.", [], {"position": position})
