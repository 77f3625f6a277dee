"""What a panel and its evidence cost. The scopes of GPU time overlap; nothing here adds two of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min, Q, QuerySet, Sum

from studies.estimation.costs import donors_cost, summed_time, time_total
from studies.models import Allocation, Attempt, CostTotal, Event, NonLaunch, Study
from studies.services.plan import protocols
from studies.services.plan.pools import fitting_pool
from studies.services.predictions.recorded import panel_set

SECONDS_PER_HOUR = 3600
_ORDER = tuple(CostTotal.Scope)


@dataclass(frozen=True)
class ScopeCost:
    """GPU time of one panel in one scope, computed from its records and as its source states it.

    Attributes:
        scope: a ``CostTotal.Scope``; ``scope.label`` is its name for a page.
        known_gpu_seconds: sum of the known records, GPU-seconds.
        complete_total_gpu_seconds: the same, None when a record is unknown.
        known_records, unknown_records: how many records that is.
        stated: the source's own total, None where it states none.
    """

    scope: CostTotal.Scope
    known_gpu_seconds: float
    complete_total_gpu_seconds: float | None
    known_records: int
    unknown_records: int
    stated: CostTotal | None


PREFLIGHT = Q(kind__regex="^preflight") | Q(facts__training_launched=False)
"""An event that used GPUs without training: its kind says so, or the source's own flag."""


def panel_cost(study: Study) -> list[ScopeCost]:
    """GPU time in every scope for which there are records, in a fixed order."""
    # A corrected entry is about the same invocation, which used its time once.
    attempts = Attempt.objects.filter(study=study, superseded_by__isnull=True)
    # A slot that was never launched is a record too: its source states what it used.
    unlaunched = NonLaunch.objects.filter(study=study).values_list(
        "facts__task_gpu_seconds", "facts__invocation_reservation_gpu_seconds"
    )
    task, reserved = zip(*unlaunched, strict=True) if unlaunched else ((), ())
    allocations = Allocation.objects.filter(study=study)
    preflights = Event.objects.filter(PREFLIGHT, study=study)
    scope = CostTotal.Scope
    totals: dict[str, dict[str, Any]] = {
        scope.TASK: _total(attempts, "task_gpu_seconds", task, scope.TASK),
        scope.RESERVATION: _total(attempts, "reserved_gpu_seconds", reserved, scope.RESERVATION),
        scope.WHOLE: _total(allocations, "whole_gpu_seconds", (), scope.WHOLE),
        scope.BATCH: _total(allocations, "batch_gpu_seconds", (), scope.BATCH),
        scope.OBSERVED: _total(allocations, "observed_gpu_seconds", (), scope.OBSERVED),
        scope.PREFLIGHT: _total(preflights, "gpu_seconds", (), scope.PREFLIGHT),
    }
    stated = {row.scope: row for row in CostTotal.objects.filter(study=study)}
    return [
        ScopeCost(scope, **totals[scope], stated=stated.get(scope))
        for scope in _ORDER
        if totals[scope]["known_records"] or totals[scope]["unknown_records"]
    ]


@dataclass(frozen=True)
class OutcomeCost:
    """GPU time of the attempts that ended alike, GPU-seconds; None where no record states it.

    Attributes:
        outcome: an ``Attempt.Outcome``; ``outcome.label`` is its name for a page.
        attempts: how many ended so.
        task, reserved: sums of what their records state, in the two scopes that belong to one attempt.
        unknown: attempts whose record states neither.
    """

    outcome: Attempt.Outcome
    attempts: int
    task: float | None
    reserved: float | None
    unknown: int


def cost_by_outcome(study: Study) -> list[OutcomeCost]:
    """What the attempts of each outcome used. An allocation holds several attempts, so it is not split."""
    rows = (
        Attempt.objects.filter(study=study, superseded_by__isnull=True)
        .order_by()
        .values("outcome")
        .annotate(
            attempts=Count("pk"),
            task=Sum("task_gpu_seconds"),
            reserved=Sum("reserved_gpu_seconds"),
            unknown=Count("pk", filter=Q(task_gpu_seconds=None, reserved_gpu_seconds=None)),
        )
    )
    found = {row["outcome"]: row for row in rows}
    return [
        OutcomeCost(outcome, row["attempts"], row["task"], row["reserved"], row["unknown"])
        for outcome in Attempt.Outcome
        if (row := found.get(outcome.value)) is not None
    ]


def _total(rows: QuerySet, column: str, besides: Iterable[Any], scope: str) -> dict[str, Any]:
    """``time_total`` of a column, added up by the database, and of some more values.

    Raises ``EstimationError`` for a negative time.
    """
    sums = rows.order_by().aggregate(
        total=Sum(column), known=Count(column), rows=Count("pk"), least=Min(column)
    )
    time_total([sums["least"]], scope)  # refuses a negative one
    more = time_total(besides, scope)
    return summed_time(
        (sums["total"] or 0.0) + more["known_gpu_seconds"],  # type: ignore[operator]
        sums["known"] + more["known_records"],
        sums["rows"] - sums["known"] + more["unknown_records"],
    )


def evidence_cost(study: Study) -> dict[str, Any] | None:
    """The full fitting pool beside the distinct donors that were copied, under the archive's key names.

    None for a study that inherits its predictions: its evidence is its parent's and is counted there.
    """
    rules = protocols.rules(study)
    prediction_set = panel_set(study)
    if rules.fitting is None or prediction_set is None:
        return None
    donors = prediction_set.predictions.order_by().exclude(donor=None)
    copied = donors.values_list("donor__configuration_id", flat=True).distinct()
    return donors_cost(fitting_pool(study, rules), copied)
