"""Changes with their reviews, witnesses and receipts."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from admission.figures.witnesses import DecisionGap, gaps_figure
from admission.services.changes import ChangeRow, GivenVerdict, Head, change_rows
from admission.services.gaps import UNSAFE, gap, unsafe
from admission.services.identity import find_issue
from admission.services.standing import until
from admission.services.witnesses import ClassCounts, ScoredWitness, WitnessClass, counts, scored_witnesses
from admission.views.common import answer, as_of, page_context
from rlvram_site.tables.paging import page_of

RECEIPTS_PER_PAGE = 100


@require_safe
def changes(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """Every change, head by head, with the verdicts given for each."""
    issue = find_issue(owner, name, number, host)
    moment = as_of(request)
    rows = change_rows(issue, moment.moment)
    current = [row.current for row in rows if row.current]
    return answer(
        request,
        "admission/changes.html",
        {
            **page_context(issue, "admission-changes", moment),
            "changes": rows,
            "with_heads": [row for row in rows if row.heads],
            "without_heads": [row for row in rows if not row.heads],
            "findings": [(row, found) for row in rows if (found := _with_reasons(row))],
            "columns": range(1, max((len(row.heads) for row in rows), default=0) + 1),
            "heads": sum(len(row.heads) for row in rows),
            "without_verdict": sum(row.lacks_verdict for row in rows),
            "with_head": len(current),
            "withdrawn": [g for row in rows for head in row.heads for g in head.verdicts if g.withdrawn_by],
        },
    )


def _with_reasons(row: ChangeRow) -> list[tuple[Head, GivenVerdict]]:
    """The reviews of a change that say more than their verdict, each with its head."""
    return [
        (head, given)
        for head in row.heads
        for given in head.verdicts
        if given.review.findings or given.review.note or given.withdrawn_by
    ]


@require_safe
def witnesses(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """Every admission decision against what happened, with counts by class."""
    issue = find_issue(owner, name, number, host)
    moment = as_of(request)
    rows = scored_witnesses(issue, moment.moment)
    counted = counts(rows)
    gaps = decision_gaps(rows)
    return answer(
        request,
        "admission/witnesses.html",
        {
            **page_context(issue, "admission-witnesses", moment),
            "groups": [(name.value, found) for name in WitnessClass if (found := _of(rows, name))],
            "witnesses": rows,
            "counts": counted,
            "classes": classes(counted),
            "unsafe": unsafe(rows),
            "open": {name.value for name in UNSAFE},
            "drawn": len(gaps),
            "figure": gaps_figure(gaps) if gaps else None,
        },
    )


def _of(rows: list[ScoredWitness], name: WitnessClass) -> list[ScoredWitness]:
    return [row for row in rows if row.name is name]


def classes(counted: ClassCounts) -> list[dict[str, Any]]:
    """Counts by class for the template, every class in its place."""
    return [{"name": name.value, "number": number} for name, number in counted.by_class.items()]


def decision_gaps(rows: list[ScoredWitness]) -> list[DecisionGap]:
    """Witnesses with a stated gap, as the figure draws them."""
    return [
        DecisionGap(
            title=row.witness.title,
            class_name=row.name.value,
            refused=row.witness.decision == "refused",
            size=found.size,
            against=found.against.value,
            is_bound=found.is_bound,
            link=row.witness.get_absolute_url(),
        )
        for row in rows
        if (found := gap(row)) is not None
    ]


@require_safe
def receipts(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """Where the evidence is, its digests, and who verified it."""
    issue = find_issue(owner, name, number, host)
    moment = as_of(request)
    rows = until(issue.receipt_rows.all(), moment.moment).order_by("-sort_at", "-id")
    return answer(
        request,
        "admission/receipts.html",
        {
            **page_context(issue, "admission-receipts", moment),
            "receipts": page_of(request, rows, RECEIPTS_PER_PAGE),
            "total": rows.count(),
            "independent": rows.filter(independent=True).count(),
            "public": rows.filter(access="public").count(),
            "whole": rows.annotate(digits=Length("sha256")).filter(digits=64).count(),
        },
    )
