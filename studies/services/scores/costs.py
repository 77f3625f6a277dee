"""What a panel and its evidence cost. The scopes of GPU time overlap; nothing here adds two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from studies.estimation.costs import AllocationTime, InvocationTime, panel_costs, source_cost, time_total
from studies.models import Allocation, Attempt, CostTotal, Event, NonLaunch, Study
from studies.services.plan import protocols
from studies.services.plan.pools import fitting_pool
from studies.services.predictions.recorded import method_predictions, panel_set

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


def panel_cost(study: Study) -> list[ScopeCost]:
    """GPU time in every scope for which there are records, in a fixed order."""
    # A corrected entry is about the same invocation, which used its time once.
    attempts = Attempt.objects.filter(study=study, superseded_by__isnull=True)
    invocations = [InvocationTime(row.task_gpu_seconds, row.reserved_gpu_seconds) for row in attempts]
    # A slot that was never launched is a record too: its source states what it used.
    invocations += [
        InvocationTime(row.facts.get("task_gpu_seconds"), row.facts.get("invocation_reservation_gpu_seconds"))
        for row in NonLaunch.objects.filter(study=study)
    ]
    allocations = [
        AllocationTime(row.whole_gpu_seconds, row.batch_gpu_seconds, row.observed_gpu_seconds)
        for row in Allocation.objects.filter(study=study)
    ]
    totals: dict[str, dict[str, Any]] = dict(panel_costs(invocations, allocations))
    preflights = [event.gpu_seconds for event in Event.objects.filter(study=study) if _is_preflight(event)]
    totals[CostTotal.Scope.PREFLIGHT] = time_total(preflights, CostTotal.Scope.PREFLIGHT)
    stated = {row.scope: row for row in CostTotal.objects.filter(study=study)}
    return [
        ScopeCost(scope, **totals[scope], stated=stated.get(scope))
        for scope in _ORDER
        if totals[scope]["known_records"] or totals[scope]["unknown_records"]
    ]


def _is_preflight(event: Event) -> bool:
    """Whether an event used GPUs without training: its kind says so, or the source's own flag."""
    return event.kind.startswith("preflight") or event.facts.get("training_launched") is False


def evidence_cost(study: Study) -> dict[str, Any] | None:
    """The full fitting pool beside the distinct donors that were copied, under the archive's key names.

    None for a study that inherits its predictions: its evidence is its parent's and is counted there.
    """
    rules = protocols.rules(study)
    prediction_set = panel_set(study)
    if rules.fitting is None or prediction_set is None:
        return None
    return source_cost(fitting_pool(study, rules), method_predictions(prediction_set))
