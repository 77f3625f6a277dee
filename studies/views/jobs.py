"""Jobs: what runs, how far, since when and where; start, cancel, retry, run anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from rlvram_site.access import is_staff
from rlvram_site.api.permissions import scopes_of_person
from rlvram_site.tables.paging import page_of
from studies.jobs import claims, kinds, starting
from studies.jobs.errors import JobRefused
from studies.jobs.kinds.export import exported_file
from studies.models import Job, Study

PER_PAGE = 50


def jobs(request: HttpRequest) -> HttpResponse:
    """Jobs, newest first, narrowed by kind, state and study."""
    rows = Job.objects.select_related("study", "earlier")
    choices = {
        "kind": [(kind.name, kind.title) for kind in kinds.all_kinds()],
        "state": Job.State.choices,
        "study": list(Study.objects.values_list("slug", "title")),
    }
    chosen = {name: request.GET.get(name, "") for name in choices}
    for name, value in chosen.items():
        if value and value not in dict(choices[name]):
            problem = f"{name} is {value[:80]!r}, expected one of {', '.join(dict(choices[name])) or 'none'}"
            return render(request, "jobs/jobs.html", {"problem": problem}, status=400)
        if value:
            rows = rows.filter(**{"study__slug" if name == "study" else name: value})
    kept = request.GET.copy()
    kept.pop("page", None)
    return render(
        request,
        "jobs/jobs.html",
        {
            "rows": page_of(request, rows, PER_PAGE),
            "filters": [(name, options, chosen[name]) for name, options in choices.items()],
            "narrowed": any(chosen.values()),
            "query": kept.urlencode(),
            "sentence": _sentence(),
        },
    )


def _sentence() -> str:
    waiting = Job.objects.filter(state=Job.State.QUEUED).count()
    running = Job.objects.filter(state=Job.State.RUNNING).count()
    return f"{running} running, {waiting} waiting."


def find_job(pk: int) -> Job:
    return get_object_or_404(Job.objects.select_related("study", "earlier", "rerun_of"), pk=pk)


@never_cache
def job(request: HttpRequest, pk: int) -> HttpResponse:
    found = find_job(pk)
    kind = kinds.kind_of(found.kind)
    return render(
        request,
        "jobs/job.html",
        {
            "job": found,
            "kind": kind,
            "result": found.result,
            "part": f"jobs/_result_{kind.name.replace('-', '_')}.html",
            "events": found.events.all(),
            "allowed": not _refusal(request, found.kind),
            "retryable": found.state in (Job.State.FAILED, Job.State.CANCELLED),
        },
    )


@never_cache
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of the page that moves while the job runs."""
    return render(request, "jobs/_live.html", {"job": find_job(pk)})


def result_document(request: HttpRequest, pk: int) -> HttpResponse:
    """The result as JSON; 404 while there is none."""
    result = find_job(pk).result
    if result is None:
        raise Http404(f"Job {pk} has no result.")
    return JsonResponse(result.as_json(), json_dumps_params={"indent": 2, "sort_keys": True})


def file(request: HttpRequest, pk: int) -> FileResponse:
    """The file that an export wrote."""
    found = find_job(pk)
    result = found.result
    path = exported_file(result.document["sha256"]) if result and found.kind == "export" else None
    if path is None or not path.exists():
        raise Http404(f"Job {pk} has no file here.")
    slug = found.study.slug if found.study else "study"
    return FileResponse(
        path.open("rb"), as_attachment=True, filename=f"{slug}.json", content_type="application/json"
    )


def _refusal(request: HttpRequest, kind_name: str) -> str:
    kind = kinds.kind_of(kind_name)
    return starting.refusal(kind, scopes_of_person(request.user), by_staff=is_staff(request.user))


def _check_allowed(request: HttpRequest, kind_name: str) -> None:
    try:
        problem = _refusal(request, kind_name)
    except JobRefused as error:
        raise Http404(str(error)) from None
    if problem:
        raise PermissionDenied(problem)


@require_POST
def start_job(request: HttpRequest) -> HttpResponse:
    """Start a job for a study. A box that is ticked is a parameter that is true."""
    kind_name, slug = request.POST.get("kind", ""), request.POST.get("study", "")
    _check_allowed(request, kind_name)
    study = get_object_or_404(Study, slug=slug)
    known = kinds.kind_of(kind_name).parameters
    ticked = {
        name: True for name, parameter in known.items() if parameter.kind is bool and name in request.POST
    }
    try:
        new = starting.start(kind_name, study, ticked)
    except JobRefused as error:
        messages.error(request, str(error))
        return redirect(study)
    return redirect(new)


def _act(request: HttpRequest, pk: int, action: Callable[[Job], Any], done: str) -> HttpResponse:
    found = find_job(pk)
    _check_allowed(request, found.kind)
    try:
        target = action(found) or found
    except JobRefused as error:
        messages.error(request, error.message)
        return redirect(found)
    messages.success(request, done)
    return redirect(target)


@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, lambda found: claims.cancel(found.pk), "The job will stop.")


@require_POST
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, lambda found: claims.retry(found.pk), "The job is queued again.")


@require_POST
def rerun(request: HttpRequest, pk: int) -> HttpResponse:
    afresh = "afresh" in request.POST
    return _act(request, pk, lambda found: starting.rerun(found, afresh=afresh), "A new job is queued.")
