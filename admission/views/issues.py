"""The list of issues, one issue's page, and the page of one statement."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from admission.figures.timeline import Moment, timeline_figure
from admission.figures.witnesses import witnesses_figure
from admission.forms_list import IssueListForm
from admission.models import Correction, RecordedReplay, StatusUpdate, TrackedIssue, Witness
from admission.services.changes import ChangeRow, change_rows
from admission.services.facts import later_facts, with_facts
from admission.services.identity import addresses, find_issue
from admission.services.overview import Overview, overview
from admission.services.standing import (
    corrections,
    stated_days,
    statuses,
    thread_count,
    until,
    worded_by,
    words_are_kept,
)
from admission.services.summaries import summaries
from admission.services.timeline import KINDS, Timeline, comments_per_day, find_statement, kind_counts
from admission.services.witnesses import counts, scored_witnesses
from admission.views.common import answer, as_of, page_context, short_facts
from admission.views.estimates import candidates
from admission.views.records import classes, decision_lines

PER_PAGE = 50
ISSUES_PER_PAGE = 25
MOMENTS = 2_000
"""Moments of one kind that the figure shows at most, the newest; the list below has them all."""


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
    """What holds (now, or as of a day), what is open, changes, witnesses, and everything in time."""
    found = find_issue(owner, name, number, host)
    moment = as_of(request)
    view = overview(found, moment.moment)
    changes = change_rows(found, moment.moment)
    witnesses = scored_witnesses(found, moment.moment)
    kind = request.GET.get("kind", "")
    entries: Any = Timeline(found, moment.moment, kind)
    page = Paginator(entries, PER_PAGE).get_page(request.GET.get("page"))
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
            "changes": changes,
            "columns": range(1, max((len(row.heads) for row in changes), default=0) + 1),
            "witnesses": witnesses,
            "classes": classes(counts(witnesses)),
            "witness_figure": witnesses_figure(decision_lines(witnesses)) if witnesses else None,
            "figure": _figure(found, view, changes, moment.moment),
            "count": thread_count(found),
            "timeline": page,
            "kind": kind if kind in KINDS else "",
            "kinds": [
                (name, KINDS[name][1], number) for name, number in kind_counts(found, moment.moment).items()
            ],
            "days": stated_days(found)[:40],
            "related": until(found.relatedissue_rows.all(), moment.moment).order_by("repository", "number"),
        },
    )


def _figure(issue: TrackedIssue, view: Overview, changes: list[ChangeRow], day: dt.datetime | None) -> Any:
    moments = [
        _moment("status", s.update, s.claim, muted=not s.current, current=s.current)
        for s in view.standing[:MOMENTS]
    ]
    moments += [
        _moment("issue", event, f"{event.get_kind_display()} {event.after}") for event in view.life.events
    ]
    for row in changes:
        for head in row.stated:
            what = f"{row.change.label} {head.sha[:8]} {head.get_state_display()}"
            moments.append(_moment("head", head, what, muted=head is not row.state))
        for head_ in row.heads:
            for given in head_.verdicts:
                review = given.review
                said = f"{review.get_verdict_display()} by {review.reviewer}"
                what = f"{row.change.label} {review.head_sha[:8]}: {said}"
                moments.append(_moment("review", review, what, muted=not given.stands))
    for model, lane in ((Correction, "correction"), (Witness, "witness")):
        rows = until(issue.rows(model), day).order_by("-sort_at", "-id")
        moments += [
            _moment(lane, row, row.text if isinstance(row, Correction) else row.title)
            for row in rows[:MOMENTS]
        ]
    return timeline_figure(moments, comments_per_day(issue, day), day)


def _moment(lane: str, row: Any, title: str, *, muted: bool = False, current: bool = False) -> Moment:
    whole_day = row.stated_precision in ("day", "unknown")
    when = row.stated_words or row.stated_day.isoformat()
    return Moment(lane, title, when, row.sort_at, row.stated_day, whole_day, muted, current)


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
        },
    )


@require_safe
def statement_text(
    request: HttpRequest, owner: str, name: str, number: int, key: str, host: str = ""
) -> HttpResponse:
    """A statement's whole text as it was recorded, as plain text."""
    stated = find_statement(find_issue(owner, name, number, host), key)
    if stated is None or not hasattr(stated.row, "body"):
        raise Http404(f"No text under {key}")
    return HttpResponse(stated.row.body, content_type="text/plain; charset=utf-8")
