"""The first page: what changed since the last visit, the studies, the tracked issues."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch
from django.utils import timezone
from django.views.decorators.http import require_POST

from rlvram_site.access import is_staff
from rlvram_site.feed import FeedItem, owners, recent_changes
from rlvram_site.ledger.models import LedgerRecord
from rlvram_site.marks import MARKS
from rlvram_site.waiting import contradicted, waiting_for
from studies.services.scores.cards import PanelSummary, study_cards
from studies.text.sentences import amendments_text, changes_sentence

SHOWN = 30
STRIP = 48
"""Marks of one method on a card. A larger panel's are in proportion, with the counts in words."""
EARLIER = 8
SAME_VISIT = dt.timedelta(minutes=30)
"""Requests closer together than this are one visit, so that a reload does not hide what is new."""


@dataclass(frozen=True)
class Strip:
    """One method on a card: its marks, and its counts in words."""

    method: str
    states: list[str]
    words: str


@dataclass(frozen=True)
class ChangeLine:
    """One change with the study, pool or issue that it belongs to."""

    change: FeedItem
    owner: LedgerRecord | None

    @property
    def owner_kind(self) -> str:
        return str(self.owner._meta.verbose_name) if self.owner else ""

    @property
    def address(self) -> str:
        """Where the owner's page is; empty if it has none."""
        try:
            return self.owner.get_absolute_url() if self.owner else ""  # type: ignore[attr-defined]
        except (AttributeError, NoReverseMatch):
            return ""


def home(request: HttpRequest) -> HttpResponse:
    since = _last_visit(request)
    changes = recent_changes(SHOWN)
    named = owners(change.stream for change in changes)
    lines = [ChangeLine(change, named.get(change.stream)) for change in changes]
    new = [line for line in lines if since is None or line.change.ended_at > since]
    earlier = [line for line in lines if line not in new][:EARLIER]
    page = study_cards(request.GET.get("page", 1))
    cards = [(card.study, card.summary, _strips(card.summary)) for card in page]
    return render(
        request,
        "studies/home.html",
        {
            "most_marks": STRIP,
            "cards": [(study, summary, _amendments(summary), strips) for study, summary, strips in cards],
            "names": list(
                dict.fromkeys(state for *_, strips in cards for strip in strips for state in strip.states)
            ),
            "page": page,
            "since": since,
            "contradicted": contradicted(request.user),
            "waiting": waiting_for(request.user),
            "new": new,
            "earlier": earlier,
            "sentence": changes_sentence(
                page.paginator.count, len(new), since is not None, full=len(new) == SHOWN
            ),
        },
    )


@require_POST
def load_samples(request: HttpRequest) -> HttpResponse:
    """The button of the empty site: the same as ``manage.py load_samples``, for staff."""
    if not is_staff(request.user):
        raise PermissionDenied("Only staff may load the sample studies.")
    call_command("load_samples", verbosity=0)
    messages.success(request, "The sample studies are loaded.")
    return redirect("home")


def _last_visit(request: HttpRequest) -> dt.datetime | None:
    """When this browser was here before the present visit; None on its first."""
    now = timezone.now()
    visit = request.session.get("visit", {})
    latest = _moment(visit.get("latest"))
    since = _moment(visit.get("since"))
    if latest is not None and now - latest > SAME_VISIT:
        since = latest
    request.session["visit"] = {"latest": now.isoformat(), "since": since.isoformat() if since else None}
    return since


def _moment(text: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None


def _amendments(summary: PanelSummary) -> str:
    return amendments_text(word for word, number in summary.words for _ in range(number))


def _strips(summary: PanelSummary) -> list[Strip]:
    """For each method one mark per planned configuration, equal marks together; of a large panel a bar."""
    return [
        Strip(
            method,
            shares(dict(states), STRIP),
            " · ".join(f"{n} {MARKS[state].short}" for state, n in states),
        )
        for method, states in summary.cells
    ]


def shares(counts: Mapping[str, int], most: int) -> list[str]:
    """As many marks as are counted; if that is more than ``most``, so many in proportion.

    What occurs at all has a mark; the largest remainders take what is left over.
    """
    total = sum(counts.values())
    if total <= most:
        return [state for state, number in counts.items() for _ in range(number)]
    exact = {state: most * number / total for state, number in counts.items() if number}
    marks = {state: max(1, int(share)) for state, share in exact.items()}
    while sum(marks.values()) < most:
        state = max(marks, key=lambda name: exact[name] - marks[name])
        marks[state] += 1
    while sum(marks.values()) > most:
        state = max((name for name in marks if marks[name] > 1), key=lambda name: marks[name] - exact[name])
        marks[state] -= 1
    return [state for state, number in marks.items() for _ in range(number)]
