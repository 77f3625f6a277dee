"""Being told: what a person asked for, how a message would look, and what became of those on their way."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from admission.models import TrackedIssue
from notices import issues, studies
from notices.forms import SubscriptionForm
from notices.keys import issue_feed_key, revoke_feed_keys, subscription_of
from notices.kinds import OF_ISSUES, OF_STUDIES, Kind
from notices.models import FeedKey, Message, Notice, Subscription
from notices.sending import mail_problem, retry, webhook_body
from notices.wording import mail_text, subject_line
from rlvram_site.api.keys import ending_keys
from rlvram_site.tables.paging import page_of
from studies.models import Study

PER_PAGE = 50
SUGGESTED = 200
"""Issues and studies that the form suggests at most; any other can be typed."""


def _own(request: HttpRequest) -> Any:
    return Subscription.objects.filter(user=request.user.pk, ended_at=None).select_related("issue", "study")


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def subscriptions(request: HttpRequest) -> HttpResponse:
    """What I am told of. A posted form adds one; the same one again changes it."""
    if request.method == "POST":
        form = SubscriptionForm(request.POST, user=request.user)
        if form.is_valid():
            made, new = form.save()
            messages.success(
                request, f"You are told of {made.subject}." if new else f"{made.subject}: changed."
            )
            return redirect("notices")
    else:
        about = request.GET.get("about", "")[:330]
        form = SubscriptionForm(initial={"about": about}, user=request.user)
    return _page(request, form, status=400 if form.errors else 200)


def _page(request: HttpRequest, form: SubscriptionForm, *, status: int = 200, feed: str = "") -> HttpResponse:
    rows = page_of(request, _own(request), PER_PAGE)
    failed = _messages(request).filter(state=Message.State.FAILED).count()
    given = request.POST if form.is_bound else QueryDict()
    chosen = given.getlist("kinds")
    return render(
        request,
        "notices/subscriptions.html",
        {
            "form": form,
            "given": {name: given.get(name, form.initial.get(name, "")) for name in form.fields},
            "rows": rows,
            "failed": failed,
            "ending_keys": ending_keys(request.user.pk)[:PER_PAGE],
            "suggested": _suggested(),
            "channels": Subscription.Channel.choices,
            "timings": Subscription.Timing.choices,
            "shapes": Subscription.Shape.choices,
            "kinds": [("Of an issue", _boxes(OF_ISSUES, chosen)), ("Of a study", _boxes(OF_STUDIES, chosen))],
            "mail_problem": mail_problem()
            or ("" if request.user.email else "Your account has no mail address."),  # type: ignore[union-attr]
            "email": getattr(request.user, "email", ""),
            "digest_hour": settings.NOTICES_DIGEST_HOUR,
            "feed_key": FeedKey.objects.filter(user=request.user.pk, revoked_at=None).first(),
            "feed": feed,
        },
        status=status,
    )


def _boxes(kinds: tuple[Kind, ...], chosen: list[str]) -> list[tuple[str, str, bool]]:
    return [(kind.value, str(kind.label), kind.value in chosen) for kind in kinds]


def _suggested() -> list[tuple[str, str]]:
    """What can be chosen, with its name: the newest issues and studies."""
    found = [("everything", "every issue and study")]
    found += [(f"study:{s.slug}", s.title) for s in Study.objects.order_by("-pk")[:SUGGESTED]]
    found += [
        (f"issue:{issue}", f"issue {issue}") for issue in TrackedIssue.objects.order_by("-pk")[:SUGGESTED]
    ]
    return found


def _act(request: HttpRequest, pk: int, change: dict[str, Any], done: str) -> HttpResponse:
    found = get_object_or_404(_own(request), pk=pk)
    Subscription.objects.filter(pk=found.pk).update(**change)
    messages.success(request, done.format(found))
    return redirect("notices")


@login_required
@require_POST
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, {"paused": True}, "{} is paused; what changes meanwhile is not told later.")


@login_required
@require_POST
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, {"paused": False}, "{} goes on.")


@login_required
@require_POST
def end(request: HttpRequest, pk: int) -> HttpResponse:
    return _act(request, pk, {"ended_at": timezone.now()}, "{} has ended.")


@never_cache
@login_required
@require_safe
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """How the next message would look: with the latest notices, or with an example where there is none."""
    found: Subscription = get_object_or_404(_own(request), pk=pk)
    told = Notice.objects.select_related("issue", "study").order_by("-pk")
    if found.issue_id or found.study_id:
        told = told.filter(issue=found.issue_id) if found.issue_id else told.filter(study=found.study_id)
    if found.kinds:
        told = told.filter(kind__in=found.kinds)
    notices = list(told[:3])
    example = not notices
    if example:
        notices = [_example(found)]
    digest = found.timing == Subscription.Timing.DAILY
    message = Message(subscription=found, digest=digest, due_at=timezone.now())
    body = json.loads(webhook_body(message, found, notices))
    return render(
        request,
        "notices/preview.html",
        {
            "row": found,
            "example": example,
            "subject": subject_line(notices, digest=digest),
            "mail": mail_text(found, notices, digest=digest),
            "body": json.dumps(body, indent=2, ensure_ascii=False),
            "notices": notices,
        },
    )


def _example(found: Subscription) -> Notice:
    """What holds now, as if it had just become so."""
    issue = found.issue or (None if found.study else TrackedIssue.objects.order_by("-pk").first())
    if issue is not None:
        state = issues.state_of(issue)
        return Notice(
            kind=Kind.HOLDS, issue=issue, title=state["title"], before="(an example: what held until then)",
            now=state["holds"]["sentence"], path=state["holds"]["path"],
        )  # fmt: skip
    study = found.study or Study.objects.order_by("-pk").first()
    if study is None:
        raise Http404("There is no issue and no study yet, so there is nothing to show.")
    state = studies.state_of(study)
    return Notice(
        kind=Kind.SEALED, study=study, title=state["title"], before="(an example: what held until then)",
        now=state["seal"] or "not sealed", path=state["path"],
    )  # fmt: skip


@never_cache
@login_required
@require_POST
def make_feed_key(request: HttpRequest) -> HttpResponse:
    """A new feed address, shown this once; an earlier one ends."""
    _, key = issue_feed_key(request.user)
    address = request.build_absolute_uri(reverse("notices-feed", args=[key]))
    return _page(request, SubscriptionForm(user=request.user), feed=address)


@login_required
@require_POST
def revoke_feed_key(request: HttpRequest) -> HttpResponse:
    if revoke_feed_keys(request.user):
        messages.success(request, "The feed's address no longer works.")
    return redirect("notices")


def _messages(request: HttpRequest) -> Any:
    return Message.objects.filter(subscription__user=request.user.pk)


@never_cache
@login_required
@require_safe
def messages_list(request: HttpRequest) -> HttpResponse:
    """My messages, newest first, with what became of each."""
    rows = _messages(request).select_related("subscription__issue", "subscription__study")
    state = request.GET.get("state", "")
    if state in Message.State.values:
        rows = rows.filter(state=state)
    page = page_of(request, rows.prefetch_related("notices__issue", "notices__study"), PER_PAGE)
    return render(
        request,
        "notices/messages.html",
        {
            "rows": page,
            "states": Message.State.choices,
            "state": state,
            "failed": _messages(request).filter(state=Message.State.FAILED).count(),
        },
    )


@login_required
@require_POST
def retry_message(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(_messages(request), pk=pk)
    if retry(found):
        messages.success(request, f"{found} is sent again within the next minute.".capitalize())
    else:
        messages.error(request, f"{found} has not failed, so there is nothing to send again.".capitalize())
    return redirect("notices-messages")


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """From within a mail, without a login: asks, and on POST ends it. Mail programs post by themselves."""
    found = subscription_of(token)
    if found is None:
        raise Http404("There is no such subscription.")
    if request.method == "POST" and found.ended_at is None:
        Subscription.objects.filter(pk=found.pk, ended_at=None).update(ended_at=timezone.now())
        found.ended_at = timezone.now()
    return render(request, "notices/unsubscribe.html", {"row": found})
