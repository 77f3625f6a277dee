"""“Track this issue”, what is followed, and the door for the forge's webhook."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from admission.models.sync import Followed
from admission.sync import following
from admission.sync.forge import forge_host
from admission.sync.hooks import HookRefused, take
from admission.sync.jobs import track
from admission.tasks import schedule_sync
from rlvram_site.api.keys import Scope
from rlvram_site.api.permissions import scopes_of_person
from rlvram_site.tables.paging import page_of
from studies.jobs.errors import JobRefused

PER_PAGE = 50


def may_track(request: HttpRequest) -> bool:
    """Whether this person may follow issues: whoever may start jobs."""
    return Scope.JOBS in scopes_of_person(request.user)


@require_http_methods(["GET", "HEAD", "POST"])
def followed(request: HttpRequest) -> HttpResponse:
    """What is followed, with its state. A posted address is followed and read at once by a job."""
    given, problem, field = "", "", ""
    if request.method == "POST":
        if not may_track(request):
            raise PermissionDenied("Only uploaders and staff may follow issues.")
        given = request.POST.get("address", "")
        try:
            _, job = track(given, request.POST.get("label", "").strip())
            return redirect(job)
        except JobRefused as error:
            problem, field = error.message, error.field.rpartition(".")[2]
    rows = Followed.objects.select_related("issue", "parent").order_by("parent_id", "owner", "name", "number")
    numbers = Followed.objects.aggregate(
        issues=Count("pk", filter=Q(number__gt=0)),
        repositories=Count("pk", filter=Q(number=0)),
        troubled=Count("pk", filter=~Q(problem="")),
        paused=Count("pk", filter=Q(paused=True)),
    )
    return render(
        request,
        "admission/followed.html",
        {
            "rows": page_of(request, rows, PER_PAGE),
            "numbers": numbers,
            "allowed": may_track(request),
            "given": given[:400],
            "label": request.POST.get("label", "")[:100],
            "problem": problem,
            "field": field,
            "host": forge_host(),
            "token": bool(settings.FORGE_TOKEN),
            "every": settings.FORGE_SYNC_SECONDS,
        },
        status=400 if problem else 200,
    )


def _act(request: HttpRequest, pk: int, action: Callable[[Followed], None], done: str) -> HttpResponse:
    if not may_track(request):
        raise PermissionDenied("Only uploaders and staff may follow issues.")
    found = get_object_or_404(Followed, pk=pk)
    action(found)
    messages.success(request, done.format(found))
    return redirect("admission-followed")


@require_POST
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, following.pause, "{} is paused.")


@require_POST
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, following.resume, "{} is followed again.")


@require_POST
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    done = "{} is followed no more; what was recorded of it stays. Track it again to go on."
    return _act(request, pk, following.unfollow, done)


@csrf_exempt
@require_POST
def hook(request: HttpRequest) -> JsonResponse:
    """A delivery of the forge's webhook; it only makes a sync due."""
    if not settings.FORGE_WEBHOOK_SECRET:
        return _answer(404, "This site takes no webhooks: FORGE_WEBHOOK_SECRET is not set.")
    limit = settings.FORGE_WEBHOOK_MAX_BYTES
    try:
        length = int(request.headers.get("Content-Length") or 0)
    except ValueError:
        return _answer(400, "Content-Length is no number.")
    # One byte more than allowed is read at most, whatever the header says.
    body = b"" if length > limit else request.read(limit + 1)
    if length > limit or len(body) > limit:
        return _answer(413, f"The body is longer than {limit:,} bytes.")
    try:
        taken = take(
            body,
            event=request.headers.get("X-GitHub-Event", ""),
            delivery=request.headers.get("X-GitHub-Delivery", ""),
            signature=request.headers.get("X-Hub-Signature-256", ""),
            secret=settings.FORGE_WEBHOOK_SECRET,
        )
    except HookRefused as error:
        return _answer(error.status, str(error))
    if taken.made_due:
        schedule_sync()
    return JsonResponse(
        {"status": taken.word, "made_due": taken.made_due}, status=200 if taken.word == "pong" else 202
    )


def _answer(status: int, message: str) -> JsonResponse:
    return JsonResponse({"status": "refused", "message": message}, status=status)
