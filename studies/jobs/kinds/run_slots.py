"""Planned slots for a GPU host. Its message carries everything; what it did comes back through the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from studies.jobs.errors import JobRefused
from studies.jobs.kinds import register
from studies.jobs.kinds.base import Kind, Parameter
from studies.jobs.values import JobOutput
from studies.models import Host, Job, SeedSlot, Study
from studies.models.hosts import queue_of
from studies.services.errors import ServiceError
from studies.services.hosts import launch_command, open_slots, orders_for
from studies.text.words import counted

TASK = "gpu.run_slots"
INTERVAL_MS = 100


@register
class RunSlots(Kind):
    name = "run-slots"
    title = "Run slots"
    staff_only = True
    remote = True
    parameters = {
        "host": Parameter("the name of a registered host", needed=True),
        "slots": Parameter("the slots to run, by their experiment ids", list, needed=True),
        "command": Parameter("the words of the command, if the protocol states none", list, default=[]),
        "interval_ms": Parameter("between two samples of the devices", int, INTERVAL_MS),
    }

    def queue_for(self, parameters: Mapping[str, Any]) -> str:
        return queue_of(parameters["host"])

    def clean(self, study: Study | None, sent: Mapping[str, Any], *, operator: bool) -> dict[str, Any]:
        values = super().clean(study, sent, operator=operator)
        assert study is not None
        host = _host(values["host"])
        known = {state.slot.experiment_id: state for state in open_slots(study)}
        for name in values["slots"]:
            if name not in known:
                raise JobRefused(
                    "parameters.slots",
                    f"names {str(name)[:80]!r}, expected planned slots of which one more attempt may count",
                )
        if len(set(values["slots"])) != len(values["slots"]) or not values["slots"]:
            raise JobRefused("parameters.slots", "expected at least one slot, each once")
        values["command"] = values["command"] or launch_command(study)
        # Bound when the job is made: a message that is sent again asks for the same try, never for another.
        values["tries"] = {name: known[name].tries_used + 1 for name in values["slots"]}
        try:
            orders_for(
                host,
                study,
                [known[name].slot for name in values["slots"]],
                values["command"],
                values["interval_ms"],
                values["tries"],
            )
        except ServiceError as error:
            raise JobRefused("parameters", str(error)) from None
        return values

    def message(self, job: Job) -> tuple[str, list[Any]]:
        assert job.study is not None
        host = _host(job.parameters["host"])
        rows = SeedSlot.objects.filter(study=job.study, experiment_id__in=job.parameters["slots"])
        orders = orders_for(
            host, job.study, list(rows.select_related("configuration")), job.parameters["command"],
            job.parameters["interval_ms"], job.parameters["tries"],
        )  # fmt: skip
        return TASK, [{"job": job.pk, "orders": orders}]


def outcome_of(job: Job, results: Sequence[Mapping[str, Any]]) -> JobOutput:
    """What a host's report says of a job."""
    assert job.study is not None
    launched = [item for item in results if not item.get("problem")]
    return JobOutput(
        sentence=f"{len(launched)} of {counted(len(results), 'slot')} launched and uploaded.",
        links=[
            {"label": item["slot"], "address": reverse("slot", args=[job.study.slug, item["slot"]])}
            for item in results
        ],
        document={"results": list(results)},
    )


def _host(name: str) -> Host:
    host = Host.objects.filter(name=name).first()
    if host is None:
        known = ", ".join(Host.objects.values_list("name", flat=True)) or "none"
        raise JobRefused("parameters.host", f"is {name[:80]!r}, expected a registered host: {known}")
    return host
