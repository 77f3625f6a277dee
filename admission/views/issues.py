"""The list of issues, one issue's page, and the page of one statement."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from admission.figures.witnesses import gaps_figure
from admission.forms_list import IssueListForm
from admission.models import RecordedReplay, Review, StatusUpdate, TrackedIssue, Witness
from admission.services.changes import change_rows
from admission.services.facts import later_facts, with_facts
from admission.services.gaps import gap, unsafe
from admission.services.identity import addresses, find_issue
from admission.services.overview import overview
from admission.services.standing import corrections, stated_days, statuses, until, worded_by, words_are_kept
from admission.services.summaries import summaries
from admission.services.timeline import find_statement
from admission.services.witnesses import counts, scored_witnesses
from admission.views.common import answer, as_of, page_context, short_facts
from admission.views.estimates import candidates
from admission.views.records import classes, decision_gaps

ISSUES_PER_PAGE = 25


@require_safe
def issue_list(request: HttpRequest) -> HttpResponse:
    """Tracked issues with what holds: searched, filtered, sorted, page by page."""
    form = IssueListForm(request.GET)
    rows = summaries(form.query() if form.is_valid() else None)
    return render(
        request,
        "admission/list.html",
        {
            "form": form,
            "page": Paginator(rows, ISSUES_PER_PAGE).get_page(request.GET.get("page")),
            "total": TrackedIssue.objects.count(),
        },
        status=400 if form.errors else 200,
    )


@require_safe
def issue(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """What holds (now, or as of a day), what is open, which heads need a verdict, what was unsafe."""
    found = find_issue(owner, name, number, host)
    if any(request.GET.get(key) for key in ("kind", "page")):
        # The list of statements stood here once; its addresses go on to lead to it.
        return redirect(f"{reverse('admission-timeline', args=found.address)}?{request.GET.urlencode()}")
    moment = as_of(request)
    view = overview(found, moment.moment)
    witnesses = scored_witnesses(found, moment.moment)
    gaps = decision_gaps(witnesses)
    current_body = ""
    if view.current is not None:
        current_body = StatusUpdate.objects.values_list("body", flat=True).get(pk=view.current.update.pk)
    return answer(
        request,
        "admission/issue.html",
        {
            **page_context(found, "admission-issue", moment),
            "view": view,
            "addresses": addresses(found),
            "current_body": current_body,
            "needing": view.needing,
            "witnesses": witnesses,
            "classes": classes(counts(witnesses)),
            "unsafe": unsafe(witnesses),
            "drawn": len(gaps),
            "figure": gaps_figure(gaps) if gaps else None,
            "days": stated_days(found)[:40],
            "related": until(found.relatedissue_rows.all(), moment.moment).order_by("repository", "number"),
        },
    )


@require_safe
def statement(
    request: HttpRequest, owner: str, name: str, number: int, key: str, host: str = ""
) -> HttpResponse:
    """One recorded statement in full, with what was said about it later."""
    found = find_issue(owner, name, number, host)
    stated = find_statement(found, key)
    if stated is None:
        raise Http404(f"{found} has no statement {key}")
    row = stated.row
    moment = as_of(request)
    facts = later_facts(found, moment.moment).get(key, [])
    with_facts([row], {key: facts})
    standing = None
    if isinstance(row, StatusUpdate):
        known = statuses(found, moment.moment)
        standing = next((s for s in known if row.pk in (s.original.pk, s.update.pk)), None)
    revised = None
    if hasattr(row, "revises_id"):
        revised = type(row)._default_manager.filter(revises=row).order_by("-id").first()
        if revised is not None and not worded_by(revised, moment.moment, row):
            revised = None
    source = find_statement(found, row.stated_in) if row.stated_in else None
    return answer(
        request,
        "admission/statement.html",
        {
            **page_context(found, "admission-statement", moment),
            "row": row,
            "section": stated.section.replace("_", " "),
            "facts": short_facts(row),
            "text": getattr(row, "body", "") or getattr(row, "text", "") or getattr(row, "note", ""),
            "standing": standing,
            "revised": revised,
            "source": source,
            "corrections": corrections(found, moment.moment).get(key, []),
            "later_facts": facts,
            "kept": words_are_kept(row, moment.moment),
            "has_text": hasattr(row, "body"),
            "candidates": candidates(row.results) if isinstance(row, RecordedReplay) else [],
            **_beside(found, row, moment.moment),
        },
    )


def _beside(issue: TrackedIssue, row: Any, day: dt.datetime | None) -> dict[str, Any]:
    """What the lists show beside a witness or a review, so that its own page shows no less."""
    if isinstance(row, Witness):
        found = next((item for item in scored_witnesses(issue, day) if item.witness.pk == row.pk), None)
        return {"scored": found, "gap": gap(found) if found else None}
    if isinstance(row, Review):
        given = (
            (change, head, given)
            for change in change_rows(issue, day)
            for head in change.heads
            for given in head.verdicts
            if given.review.pk == row.pk
        )
        return {"given": next(given, None)}
    return {}


@require_safe
def statement_text(
    request: HttpRequest, owner: str, name: str, number: int, key: str, host: str = ""
) -> HttpResponse:
    """A statement's whole text as it was recorded, as plain text."""
    stated = find_statement(find_issue(owner, name, number, host), key)
    if stated is None or not hasattr(stated.row, "body"):
        raise Http404(f"No text under {key}")
    return HttpResponse(stated.row.body, content_type="text/plain; charset=utf-8")
