"""GPU hosts: what they have and do, and giving them planned slots."""

from __future__ import annotations

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from rlvram_site.access import is_staff
from rlvram_site.api.permissions import scopes_of_person
from studies.jobs import kinds, starting
from studies.jobs.errors import JobRefused
from studies.models import Host, Job, Study
from studies.services.hosts import launch_program, open_slots
from studies.services.outcomes.slots import SlotState

SHOWN_JOBS = 20


class AssignForm(forms.Form):
    """Which slots of a study the host shall run, and how if the protocol does not say."""

    slots = forms.MultipleChoiceField(
        label="Slots, in the planned order", widget=forms.CheckboxSelectMultiple
    )
    program = forms.ChoiceField(label="Program, from the host's own file")

    def __init__(self, study: Study, host: Host, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.fields["slots"].choices = [  # type: ignore[attr-defined]
            (state.slot.experiment_id, _choice(state)) for state in open_slots(study)
        ]
        self.fields["program"].choices = [(name, name) for name in host.programs]  # type: ignore[attr-defined]
        self.fields["program"].initial = launch_program(study)


def hosts(request: HttpRequest) -> HttpResponse:
    """Every host with its devices and what it does now."""
    rows = list(Host.objects.all())
    running = {
        job.queue: job for job in Job.objects.filter(state=Job.State.RUNNING, queue__startswith="gpu.")
    }
    away = sum(row.away for row in rows)
    return render(
        request,
        "jobs/hosts.html",
        {"rows": [(row, running.get(row.queue)) for row in rows], "here": len(rows) - away, "away": away},
    )


def _choice(state: SlotState) -> str:
    """A slot to tick; one that was tried before says so."""
    return f"{state.slot}, try {state.tries_used + 1}" if state.tries_used else str(state.slot)


def host(request: HttpRequest, name: str) -> HttpResponse:
    """One host; staff give it planned slots here."""
    found = get_object_or_404(Host, name=name)
    kind = kinds.kind_of("run-slots")
    refusal = starting.refusal(kind, scopes_of_person(request.user), by_staff=is_staff(request.user))
    slug = request.POST.get("study") or request.GET.get("study", "")
    study = get_object_or_404(Study, slug=slug) if slug else None
    form = AssignForm(study, found, request.POST or None) if study and not refusal else None
    if request.method == "POST":
        if refusal:
            raise PermissionDenied(refusal)
        if form is not None and form.is_valid():
            parameters = {"host": found.name, **form.cleaned_data}
            try:
                return redirect(starting.start(kind.name, study, parameters))
            except JobRefused as error:
                form.add_error(None, str(error))
    return render(
        request,
        "jobs/host.html",
        {
            "host": found,
            "memory": [(device, found.memory_mib.get(device["uuid"])) for device in found.devices],
            "jobs": Job.objects.filter(queue=found.queue).select_related("study")[:SHOWN_JOBS],
            "studies": [] if refusal else Study.objects.filter(seedslots__isnull=False).distinct(),
            "study": study,
            "form": form,
        },
        status=400 if form is not None and form.is_bound else 200,
    )
