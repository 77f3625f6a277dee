"""What the panel and its evidence cost, in scopes that are never added."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse

from rlvram_site.tables.paging import page_of
from rlvram_site.templatetags.display import gpu_hours
from studies.figures.costs import ScopeBar, costs_figure
from studies.models import Allocation, Attempt, CostTotal
from studies.services.errors import UNREADABLE
from studies.services.scores.costs import (
    SECONDS_PER_HOUR,
    OutcomeCost,
    ScopeCost,
    cost_by_outcome,
    evidence_cost,
    panel_cost,
)
from studies.text.words import counted, listed
from studies.views.common import get_study, study_page

PER_PAGE = 100
THREE_SCOPES = (CostTotal.Scope.TASK, CostTotal.Scope.RESERVATION, CostTotal.Scope.WHOLE)


def three_scopes(costs: Sequence[ScopeCost]) -> list[ScopeCost]:
    """Task, reservation and whole allocation, as far as there are records."""
    return [cost for scope in THREE_SCOPES for cost in costs if cost.scope == scope]


def costs(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(slug)
    found, outcomes = panel_cost(study), cost_by_outcome(study)
    main = three_scopes(found)
    # A bar of length zero would say that nothing was used where nobody knows.
    known = [cost for cost in main if cost.known_records]
    try:
        evidence = evidence_cost(study)
    except UNREADABLE:
        evidence = None
    return study_page(
        request, study, "costs",
        sentence=f"{_sentence(found, main)} {outcomes_sentence(outcomes)}".strip(),
        costs=found,
        outcomes=outcomes,
        figure=costs_figure([_bar(cost) for cost in known]) if known else None,
        evidence=evidence,
        page_of_rows=page_of(request, Allocation.objects.filter(study=study), PER_PAGE),
    )  # fmt: skip


def outcomes_sentence(outcomes: Sequence[OutcomeCost]) -> str:
    """What of the task-provisioned time went where; empty where no attempt states its time."""
    parts = [
        f"{gpu_hours(item.task)} went to {counted(item.attempts, *_NOUNS[item.outcome])}"
        for item in outcomes
        if item.task is not None
    ]
    return f"Of the task-provisioned time {listed(parts)}." if parts else ""


_NOUNS = {
    Attempt.Outcome.COMPLETED: ("completed attempt", ""),
    Attempt.Outcome.MEMORY_FAILURE: ("diagnosed memory failure", ""),
    Attempt.Outcome.UNRESOLVED: ("attempt that established nothing", "attempts that established nothing"),
}


def _bar(cost: ScopeCost) -> ScopeBar:
    here = "#allocations" if cost.scope == CostTotal.Scope.WHOLE else "#outcomes"
    hours = cost.known_gpu_seconds / SECONDS_PER_HOUR
    return ScopeBar(cost.scope.label, hours, cost.unknown_records, here)


def _sentence(found: Sequence[ScopeCost], main: Sequence[ScopeCost]) -> str:
    if not main:
        return "No GPU time is recorded yet."
    parts = [
        f"{gpu_hours(cost.known_gpu_seconds)} as {cost.scope.label}" for cost in main if cost.known_records
    ]
    if not parts:
        return "Something ran, and nobody recorded how much GPU time it took."
    preflight = [cost for cost in found if cost.scope == CostTotal.Scope.PREFLIGHT]
    extra = f" Preflights used {gpu_hours(preflight[0].known_gpu_seconds)} besides." if preflight else ""
    return f"The same work is {', '.join(parts)}: scopes that overlap and never add up.{extra}"
