"""The study's flat tables. Cells hold values; written with `csv` they read like the archive's.

A missing value is None, never zero; booleans stay booleans; lists of seeds are joined with a semicolon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from studies.estimation.errors import EstimationError
from studies.estimation.labels import (
    SLOTS_PER_CONFIGURATION,
    Answer,
    Resolution,
    SlotOutcome,
    is_unscored_approval,
    slot_state,
)

FEWER_GPUS, MORE_GPUS = 2, 4
"""Task GPU counts of the two periods of a matched pair."""


def outcome_cells(resolution: Resolution) -> dict[str, Any]:
    """What is known of one planned configuration, by column."""
    return {
        "all_three_seeds_eligible": len(resolution.eligible_seeds) == SLOTS_PER_CONFIGURATION,
        "completed_peak_mib": resolution.completed_peak_mib,
        "completed_processes": resolution.completed_processes,
        "eligible_seed_count": len(resolution.eligible_seeds),
        "eligible_seeds": _joined(resolution.eligible_seeds),
        "known_margin_exceedance": resolution.known_margin_exceedance,
        "known_memory_failure": resolution.known_memory_failure,
        "maximum_known_completed_peak_mib": resolution.maximum_known_completed_peak_mib,
        "observed_state": resolution.state,
        "required_seeds": SLOTS_PER_CONFIGURATION,
        "unresolved": resolution.label is None,
        "unresolved_seeds": _joined(resolution.unresolved_seeds),
    }


def prediction_cells(
    method: str, label: Answer, peak_mib: float | None, resolution: Resolution
) -> dict[str, Any]:
    """What one method predicted for a configuration, by column; ``peak_mib`` is None without one."""
    return {
        f"{method}_predicted_peak_mib": peak_mib,
        f"{method}_predicted_state": label.value,
        f"{method}_unscored_approval": is_unscored_approval(label.approves, resolution),
    }


OUTCOME_COLUMNS = (
    "all_three_seeds_eligible", "completed_peak_mib", "completed_processes", "eligible_seed_count",
    "eligible_seeds", "known_margin_exceedance", "known_memory_failure", "maximum_known_completed_peak_mib",
    "observed_state", "required_seeds", "unresolved", "unresolved_seeds",
)  # fmt: skip
"""The columns of ``outcome_cells``, in their order."""


def prediction_columns(methods: Sequence[str]) -> list[str]:
    """The columns of ``prediction_cells`` for each of these methods, in their order."""
    kinds = ("predicted_peak_mib", "predicted_state", "unscored_approval")
    return [f"{method}_{kind}" for method in methods for kind in kinds]


def _joined(seeds: Sequence[int]) -> str:
    return ";".join(map(str, seeds))


@dataclass(frozen=True)
class PairedSlot:
    """One period of a matched pair.

    Attributes:
        pair_id: the pair.
        period: 1 or 2, the order in which the two were run.
        task_gpu_count: 2 or 4.
        dataset: short name of the workload.
        configuration_level: compound level.
        outcome: what the slot established.
        task_runtime_seconds: run time of the task, s, or None.
    """

    pair_id: str
    period: int
    task_gpu_count: int
    dataset: str
    configuration_level: str
    outcome: SlotOutcome
    task_runtime_seconds: float | None = None


def pair_table(slots: Sequence[PairedSlot], margin_mib: float) -> list[dict[str, Any]]:
    """One row for each matched pair, in the order in which pairs first appear.

    A difference is given only where both runs completed: MiB and seconds, four GPUs less two.

    Raises:
        EstimationError: a pair that isn't exactly one two-GPU and one four-GPU period of the same
            workload, level and seed.
    """
    pairs: dict[str, list[PairedSlot]] = {}
    for slot in slots:
        pairs.setdefault(slot.pair_id, []).append(slot)
    return [_pair_row(pair_id, pair, margin_mib) for pair_id, pair in pairs.items()]


def _pair_row(pair_id: str, pair: Sequence[PairedSlot], margin_mib: float) -> dict[str, Any]:
    counts = sorted(slot.task_gpu_count for slot in pair)
    if counts != [FEWER_GPUS, MORE_GPUS]:
        raise EstimationError(
            f"pair {pair_id}", "task_gpu_count", counts, f"one {FEWER_GPUS} and one {MORE_GPUS}"
        )
    periods = sorted(slot.period for slot in pair)
    if periods != [1, 2]:
        raise EstimationError(f"pair {pair_id}", "period", periods, "one 1 and one 2")
    matched = {(slot.dataset, slot.configuration_level, slot.outcome.seed) for slot in pair}
    if len(matched) > 1:
        raise EstimationError(
            f"pair {pair_id}", "workload, level and seed", sorted(matched), "the same in both periods"
        )
    two, four = sorted(pair, key=lambda slot: slot.task_gpu_count)
    first = min(pair, key=lambda slot: slot.period)
    both_completed = two.outcome.kind == four.outcome.kind == "completed"
    peaks = (four.outcome.peak_mib, two.outcome.peak_mib)
    runtimes = (four.task_runtime_seconds, two.task_runtime_seconds)
    return {
        "both_completed": both_completed,
        "both_eligible": two.outcome.kind is not None and four.outcome.kind is not None,
        "configuration_level": first.configuration_level,
        "dataset": first.dataset,
        "first_task_gpu_count": first.task_gpu_count,
        "four_gpu_state": slot_state(four.outcome, margin_mib),
        "pair_id": pair_id,
        "peak_difference_4_minus_2_mib": _difference(peaks) if both_completed else None,
        "runtime_difference_4_minus_2_seconds": _difference(runtimes) if both_completed else None,
        "training_seed": first.outcome.seed,
        "two_gpu_state": slot_state(two.outcome, margin_mib),
    }


def _difference(values: tuple[float | None, float | None]) -> float | None:
    later, earlier = values
    return None if later is None or earlier is None else later - earlier
