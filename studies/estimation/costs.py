"""What evidence cost: configurations and attempts of a pool, GPU time of a panel.

The scopes of GPU time overlap. They are reported side by side and nothing here adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.fields import is_finite_number
from studies.estimation.methods.base import Prediction
from studies.estimation.pool import Pool


def acquisition(pool: Pool) -> dict[str, object]:
    """Configurations, eligible processes and recorded attempts behind a pool."""
    return {
        "configuration_ids": pool.configuration_ids,
        "configurations": len(pool),
        "eligible_processes": pool.eligible_processes,
        "recorded_attempts": pool.recorded_attempts,
    }


def source_cost(pool: Pool, predictions: Iterable[Prediction]) -> dict[str, object]:
    """Cost of the full fitting pool beside that of the distinct donors that `predictions` copied.

    Raises:
        EstimationError: a donor outside the pool.
    """
    return donors_cost(
        pool, {item.donor_configuration_id for item in predictions if item.donor_configuration_id is not None}
    )


def donors_cost(pool: Pool, copied: Iterable[str]) -> dict[str, object]:
    """``source_cost`` of predictions that copied these donors, given by configuration id.

    Raises:
        EstimationError: a donor outside the pool.
    """
    donors = sorted(set(copied))
    if donors:
        selected = acquisition(pool.restricted_to(donors, "donors"))
    else:
        selected = {
            "configuration_ids": [],
            "configurations": 0,
            "eligible_processes": 0,
            "recorded_attempts": 0,
        }
    return {"distinct_selected_donors": selected, "full_permitted_fitting_pool": acquisition(pool)}


@dataclass(frozen=True)
class InvocationTime:
    """GPU time of one planned invocation, GPU-seconds. None: not recorded, which is not zero.

    Attributes:
        task_gpu_seconds: GPUs of the task × elapsed time.
        reservation_gpu_seconds: GPUs of the whole allocation × elapsed time of the invocation.
    """

    task_gpu_seconds: float | None
    reservation_gpu_seconds: float | None


@dataclass(frozen=True)
class AllocationTime:
    """GPU time of one scheduler allocation, GPU-seconds. None: not recorded.

    Attributes:
        whole_gpu_seconds: by the scheduler's own start and end of the job.
        batch_step_gpu_seconds: by the scheduler's record of the batch step, a span inside the former.
        observed_gpu_seconds: until the runner closed its ledger.
    """

    whole_gpu_seconds: float | None
    batch_step_gpu_seconds: float | None
    observed_gpu_seconds: float | None


def time_total(seconds: Iterable[float | None], scope: str) -> dict[str, object]:
    """Sum of the known records, and of all of them only if none is unknown; GPU-seconds.

    Raises:
        EstimationError: a negative time or one that is not finite.
    """
    records = list(seconds)
    known = [value for value in records if value is not None]
    for value in known:
        if not is_finite_number(value) or value < 0:
            raise EstimationError("costs", scope, value, "a finite time of at least 0 GPU-seconds")
    return summed_time(math.fsum(known), len(known), len(records) - len(known))


def summed_time(known_gpu_seconds: float, known: int, unknown: int) -> dict[str, object]:
    """``time_total`` of times that are added up already, with how many are known and unknown."""
    return {
        "complete_total_gpu_seconds": known_gpu_seconds if known and not unknown else None,
        "known_gpu_seconds": known_gpu_seconds,
        "known_records": known,
        "unknown_records": unknown,
    }


def panel_costs(
    invocations: Iterable[InvocationTime], allocations: Iterable[AllocationTime]
) -> dict[str, dict[str, object]]:
    """GPU time of a panel in each scope, under the archive's key names. Never add two of them."""
    planned, reserved = list(invocations), list(allocations)
    return {
        "task_provisioned_time": time_total(
            (item.task_gpu_seconds for item in planned), "task_provisioned_time"
        ),
        "invocation_reservation_time": time_total(
            (item.reservation_gpu_seconds for item in planned), "invocation_reservation_time"
        ),
        "whole_allocation_time": time_total(
            (item.whole_gpu_seconds for item in reserved), "whole_allocation_time"
        ),
        "batch_step_time": time_total((item.batch_step_gpu_seconds for item in reserved), "batch_step_time"),
        "observed_allocation_time": time_total(
            (item.observed_gpu_seconds for item in reserved), "observed_allocation_time"
        ),
    }
