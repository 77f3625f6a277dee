"""Changes with their reviews, witnesses and receipts."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from admission.figures.witnesses import DecisionLine, witnesses_figure
from admission.services.changes import change_rows
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
            "columns": range(1, max((len(row.heads) for row in rows), default=0) + 1),
            "heads": sum(len(row.heads) for row in rows),
            "without_verdict": sum(1 for head in current if not head.verdict),
            "with_head": len(current),
            "withdrawn": [g for row in rows for head in row.heads for g in head.verdicts if g.withdrawn_by],
        },
    )


@require_safe
def witnesses(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """Every admission decision against what happened, with counts by class."""
    issue = find_issue(owner, name, number, host)
    moment = as_of(request)
    rows = scored_witnesses(issue, moment.moment)
    counted = counts(rows)
    order = list(WitnessClass)
    return answer(
        request,
        "admission/witnesses.html",
        {
            **page_context(issue, "admission-witnesses", moment),
            "witnesses": sorted(rows, key=lambda row: order.index(row.name)),
            "counts": counted,
            "classes": classes(counted),
            "figure": witnesses_figure(decision_lines(rows)) if rows else None,
        },
    )


def classes(counted: ClassCounts) -> list[dict[str, Any]]:
    """Counts by class for the template, every class in its place."""
    return [{"name": name.value, "number": number} for name, number in counted.by_class.items()]


def decision_lines(rows: list[ScoredWitness]) -> list[DecisionLine]:
    """Witnesses as the figure draws them."""
    return [
        DecisionLine(
            title=row.witness.title,
            class_name=row.name.value,
            under_estimated=bool(row.under_estimated),
            predicted=row.witness.required_bytes,
            usable=row.witness.usable_bytes,
            measured=[m.size_bytes for m in row.increments],
            totals=[m.size_bytes for m in row.measurements if m.basis in ("allocated", "reserved")],
            failed_request=row.witness.failed_request_bytes,
            remark=f"{row.witness.excess_words} above the prediction" if row.witness.excess_words else "",
        )
        for row in rows
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
