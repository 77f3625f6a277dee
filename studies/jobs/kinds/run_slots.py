"""Planned slots for a GPU host, which asks for them through the API and tells there what it did."""

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
from studies.services.hosts import launch_program, open_slots, orders_for

INTERVAL_MS = 100


@register
class RunSlots(Kind):
    name = "run-slots"
    title = "Run slots"
    staff_only = True
    parameters = {
        "host": Parameter("the name of a registered host", needed=True),
        "slots": Parameter("the slots to run, by their experiment ids", list, needed=True),
        "program": Parameter(
            "the name of one of the host's programs, if the protocol states none", default=""
        ),
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
        values["program"] = values["program"] or launch_program(study)
        if values["program"] not in host.programs:
            raise JobRefused(
                "parameters.program",
                f"is {values['program'][:80]!r}, expected one of {host.name}: "
                f"{', '.join(host.programs) or 'none'}",
            )
        # Bound when the job is made: asked for again, it means the same try, never another.
        values["tries"] = {name: known[name].tries_used + 1 for name in values["slots"]}
        try:
            orders_for(
                host,
                study,
                [known[name].slot for name in values["slots"]],
                values["program"],
                values["interval_ms"],
                values["tries"],
            )
        except ServiceError as error:
            raise JobRefused("parameters", str(error)) from None
        return values


def orders_of(job: Job) -> list[dict[str, Any]]:
    """A job's orders, as its host runs them. Raises ``ServiceError`` or ``JobRefused`` if there are none."""
    assert job.study is not None
    host = _host(job.parameters["host"])
    rows = SeedSlot.objects.filter(study=job.study, experiment_id__in=job.parameters["slots"])
    return orders_for(
        host, job.study, list(rows.select_related("configuration")), job.parameters["program"],
        job.parameters["interval_ms"], job.parameters["tries"],
    )  # fmt: skip


FACTS = ("launched", "ended", "uploaded", "recorded")
"""What is known of a slot, each for itself: none follows from another."""


def facts_sentence(total: int, results: Sequence[Mapping[str, Any]]) -> str:
    """``2 of 3 slots launched, 2 ended, 1 uploaded, 1 recorded.``, and the first problem."""
    numbers = {fact: sum(bool(item.get(fact)) for item in results) for fact in FACTS}
    said = [f"{numbers['launched']} of {total} {'slot' if total == 1 else 'slots'} launched"]
    said += [f"{numbers[fact]} {fact}" for fact in FACTS[1:]]
    problem = next((f" {item['slot']}: {item['problem']}" for item in results if item.get("problem")), "")
    return f"{', '.join(said)}.{problem}"


def outcome_of(job: Job, results: Sequence[Mapping[str, Any]]) -> JobOutput:
    """What a host's report says of a job."""
    assert job.study is not None
    return JobOutput(
        sentence=facts_sentence(len(job.parameters["slots"]), results),
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
