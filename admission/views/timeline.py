"""Everything about an issue in time: searched, narrowed, and grouped by status update."""

from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from admission.figures.timeline import Moment, timeline_figure
from admission.models import Correction, TrackedIssue, Witness
from admission.services.changes import ChangeRow, change_rows
from admission.services.identity import find_issue
from admission.services.periods import periods
from admission.services.standing import StandingStatus, lifecycle, statuses, thread_count, until
from admission.services.timeline import KINDS, Timeline, comments_per_day, kind_counts
from admission.views.common import answer, as_of, page_context

PER_PAGE = 40
MOMENTS = 2_000
"""Moments of one kind that the figure shows at most, the newest; the list below has them all."""
MOST_CHARACTERS = 200
"""Of a search; what is longer is cut."""


@require_safe
def timeline(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """What was said and done, newest first."""
    issue = find_issue(owner, name, number, host)
    moment = as_of(request)
    kind = request.GET.get("kind", "")
    kind = kind if kind in KINDS else ""
    words = request.GET.get("q", "").replace("\0", "").strip()[:MOST_CHARACTERS]
    standing = statuses(issue, moment.moment)
    entries: Any = Timeline(issue, moment.moment, kind, words)
    page = Paginator(entries, PER_PAGE).get_page(request.GET.get("page"))
    changes = change_rows(issue, moment.moment)
    counts = kind_counts(issue, moment.moment, words)
    kept = {key: value for key, value in (("as_of", moment.query), ("q", words)) if value}
    return answer(
        request,
        "admission/timeline.html",
        {
            **page_context(issue, "admission-timeline", moment),
            "count": thread_count(issue),
            "timeline": page,
            "periods": periods(page.object_list, standing),
            "kind": kind,
            "words": words,
            "kept": urlencode(kept),
            "kinds": [(name, KINDS[name][1], found) for name, found in counts.items()],
            "total": sum(counts.values()),
            "figure": _figure(issue, standing, changes, moment.moment),
        },
    )


def _figure(
    issue: TrackedIssue, standing: list[StandingStatus], changes: list[ChangeRow], day: dt.datetime | None
) -> Any:
    moments = [
        _moment("status", s.update, s.claim, muted=not s.current, current=s.current)
        for s in standing[:MOMENTS]
    ]
    moments += [
        _moment("issue", event, f"{event.get_kind_display()} {event.after}")
        for event in lifecycle(issue, day).events
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
    link = row.get_absolute_url()
    return Moment(lane, title, when, row.sort_at, row.stated_day, whole_day, muted, current, link)
