"""The job behind “Track this issue”: read it now, with progress, and follow it from then on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from admission.models.sync import Followed
from admission.sync import following
from admission.sync.errors import SyncError
from admission.sync.fetching import Fetched
from admission.sync.following import address_here
from admission.sync.forge import Forge
from admission.thread.reading import ExportError
from studies.jobs.errors import JobFailed, JobRefused
from studies.jobs.kinds import register
from studies.jobs.kinds.base import Parameter, WorkerKind
from studies.jobs.starting import start
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Job, Study

NAME = "sync"


@dataclass(frozen=True)
class Read:
    """What was read: one issue, or the sentence about a repository."""

    followed: Followed
    fetched: Fetched | None
    sentence: str = ""


@register
class Sync(WorkerKind):
    name = NAME
    title = "Read from the forge"
    needs_study = False
    parameters = {
        "address": Parameter("the address of an issue or a repository", needed=True),
        "label": Parameter("of a repository: only issues with this label", default=""),
    }

    def clean(self, study: Study | None, sent: Mapping[str, Any], *, operator: bool) -> dict[str, Any]:
        values = super().clean(study, sent, operator=operator)
        try:
            values["address"] = str(address_here(values["address"]))
        except SyncError as error:
            raise JobRefused("parameters.address", str(error)) from None
        if len(values["label"]) > 100 or "\x00" in values["label"]:
            raise JobRefused("parameters.label", "is no label, expected at most 100 characters")
        return values

    def inputs(self, work: Work) -> Any:
        # What the forge says may be different every time.
        return {"job": work.job.pk, "claim": work.claim.fence}

    def compute(self, work: Work) -> Read:
        address = address_here(work.parameters["address"])
        followed = following.follow(address, by=work.job.created_by, label=work.parameters["label"])
        forge = Forge()
        try:
            with forge.connected():
                if not followed.number:
                    sentence = following.read_repository(followed, forge, work.step)
                    return Read(followed, None, sentence)
                return Read(followed, following.fetch(followed, forge, work.step))
        except (SyncError, ExportError) as error:
            following.note_failure(followed, str(error), getattr(error, "again_at", None))
            raise JobFailed(str(error)) from error

    def record(self, work: Work, computed: Read) -> JobOutput:
        if computed.fetched is None:
            following.note_success(computed.followed, computed.sentence)
            return JobOutput(
                sentence=computed.sentence,
                links=[{"label": "What is followed", "address": reverse("admission-followed")}],
                document={"followed": str(computed.followed)},
            )
        try:
            recorded = following.record(computed.followed, computed.fetched)
        except ExportError as error:
            raise JobFailed(str(error)) from error
        except ValidationError as error:
            raise JobFailed(following.words_of(error)) from error
        return JobOutput(
            sentence=recorded.sentence,
            links=[{"label": str(recorded.issue), "address": recorded.issue.get_absolute_url()}],
            document={"issue": str(recorded.issue), "added": dict(recorded.added)},
        )


def track(address: str, label: str = "") -> tuple[Followed, Job]:
    """Follow what ``address`` names and queue the job that reads it; one that waits or runs is enough.

    Raises ``JobRefused`` for an address that names nothing here.
    """
    values = Sync().clean(None, {"address": address, "label": label}, operator=False)
    followed = following.follow(address_here(values["address"]), label=values["label"])
    # The job has the first go; if it is lost, the clock reads it a little later.
    Followed.objects.filter(pk=followed.pk).update(due_at=timezone.now() + following.LEASE)
    values["address"] = str(followed)
    alive = Job.objects.filter(
        kind=NAME, state__in=[Job.State.QUEUED, Job.State.RUNNING], parameters__address=values["address"]
    )
    return followed, alive.first() or start(NAME, None, values)
