"""The study's flat tables. Cells hold values; written with `csv` they read like the archive's.

A missing value is None, never zero; booleans stay booleans; lists of seeds are joined with a semicolon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from studies.estimation.errors import EstimationError
from studies.estimation.labels import (
    Answer,
    Resolution,
    SlotOutcome,
    is_unscored_approval,
    slot_state,
)


def outcome_cells(resolution: Resolution) -> dict[str, Any]:
    """What is known of one planned configuration, by column.

    The published tables, of studies with three seeds, spell that number in one column's name.
    """
    planned = len(resolution.planned_seeds)
    every = "all_three_seeds_eligible" if planned == 3 else "all_seeds_eligible"
    return {
        every: not resolution.unresolved_seeds,
        "completed_peak_mib": resolution.completed_peak_mib,
        "completed_processes": resolution.completed_processes,
        "eligible_seed_count": len(resolution.eligible_seeds),
        "eligible_seeds": _joined(resolution.eligible_seeds),
        "known_margin_exceedance": resolution.known_margin_exceedance,
        "known_memory_failure": resolution.known_memory_failure,
        "maximum_known_completed_peak_mib": resolution.maximum_known_completed_peak_mib,
        "observed_state": resolution.state,
        "required_seeds": planned,
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


def _joined(seeds: Sequence[int]) -> str:
    return ";".join(map(str, seeds))


@dataclass(frozen=True)
class PairedSlot:
    """One period of a matched pair.

    Attributes:
        pair_id: the pair.
        period: 1 or 2, the order in which the two were run.
        task_gpu_count: GPUs of the task.
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


@dataclass(frozen=True)
class Pair:
    """Two runs that differ in their GPU count alone.

    Attributes:
        fewer, more: the runs on fewer and on more GPUs.
        fewer_state, more_state: their states, `unresolved` included.
    """

    fewer: PairedSlot
    more: PairedSlot
    fewer_state: str
    more_state: str

    @property
    def first(self) -> PairedSlot:
        """The run of period 1."""
        return min(self.fewer, self.more, key=lambda slot: slot.period)

    @property
    def both_completed(self) -> bool:
        """Whether there is a difference to report."""
        return self.fewer.outcome.kind == self.more.outcome.kind == "completed"

    @property
    def both_eligible(self) -> bool:
        """Whether both runs count."""
        return self.fewer.outcome.kind is not None and self.more.outcome.kind is not None

    @property
    def peak_difference_mib(self) -> float | None:
        """More GPUs less fewer, MiB; None unless both completed."""
        return self._difference(self.more.outcome.peak_mib, self.fewer.outcome.peak_mib)

    @property
    def runtime_difference_seconds(self) -> float | None:
        """More GPUs less fewer, s; None unless both completed with a recorded time."""
        return self._difference(self.more.task_runtime_seconds, self.fewer.task_runtime_seconds)

    def _difference(self, later: float | None, earlier: float | None) -> float | None:
        if not self.both_completed or later is None or earlier is None:
            return None
        return later - earlier

    def to_record(self) -> dict[str, Any]:
        """The pair by column. Pairs of two and four GPUs have the columns of the published table."""
        published = (self.fewer.task_gpu_count, self.more.task_gpu_count) == (2, 4)
        fewer, more, less = (
            ("two", "four", "4_minus_2") if published else ("fewer", "more", "more_minus_fewer")
        )
        sizes = {} if published else {
            "fewer_gpus": self.fewer.task_gpu_count, "more_gpus": self.more.task_gpu_count
        }  # fmt: skip
        return sizes | {
            "both_completed": self.both_completed,
            "both_eligible": self.both_eligible,
            "configuration_level": self.first.configuration_level,
            "dataset": self.first.dataset,
            "first_task_gpu_count": self.first.task_gpu_count,
            f"{more}_gpu_state": self.more_state,
            "pair_id": self.first.pair_id,
            f"peak_difference_{less}_mib": self.peak_difference_mib,
            f"runtime_difference_{less}_seconds": self.runtime_difference_seconds,
            "training_seed": self.first.outcome.seed,
            f"{fewer}_gpu_state": self.fewer_state,
        }


def pairs_of(slots: Sequence[PairedSlot], margin_mib: float) -> list[Pair]:
    """The matched pairs, in the order in which they first appear.

    Raises:
        EstimationError: a pair that isn't exactly two periods of the same workload, level and seed on two
            different numbers of GPUs.
    """
    pairs: dict[str, list[PairedSlot]] = {}
    for slot in slots:
        pairs.setdefault(slot.pair_id, []).append(slot)
    return [_pair(pair_id, pair, margin_mib) for pair_id, pair in pairs.items()]


def _pair(pair_id: str, pair: Sequence[PairedSlot], margin_mib: float) -> Pair:
    counts = sorted(slot.task_gpu_count for slot in pair)
    if len(counts) != 2 or counts[0] == counts[1]:
        raise EstimationError(f"pair {pair_id}", "task_gpu_count", counts, "two different ones")
    periods = sorted(slot.period for slot in pair)
    if periods != [1, 2]:
        raise EstimationError(f"pair {pair_id}", "period", periods, "one 1 and one 2")
    matched = {(slot.dataset, slot.configuration_level, slot.outcome.seed) for slot in pair}
    if len(matched) > 1:
        raise EstimationError(
            f"pair {pair_id}", "workload, level and seed", sorted(matched), "the same in both periods"
        )
    fewer, more = sorted(pair, key=lambda slot: slot.task_gpu_count)
    return Pair(fewer, more, slot_state(fewer.outcome, margin_mib), slot_state(more.outcome, margin_mib))
