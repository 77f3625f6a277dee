"""Matched pairs: the same workload, level and seed on two and on four GPUs of one allocation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from studies.estimation.tables import FEWER_GPUS, MORE_GPUS, PairedSlot, pair_table
from studies.services.outcomes.slots import SlotState
from studies.services.scores.panel import Panel


@dataclass(frozen=True)
class MatchedPair:
    """One pair: its row of the pairs table under the archive's keys, and the slot of each GPU count."""

    row: dict[str, Any]
    two: SlotState
    four: SlotState


def matched_pairs(panel: Panel) -> list[MatchedPair]:
    """The panel's pairs in schedule order; slots that belong to no pair are left out.

    Raises ``EstimationError`` for a pair that is not one run on two and one on four GPUs.
    """
    configurations = {slot.slot.pk: row.configuration for row in panel.rows for slot in row.slots}
    paired = [slot for slot in panel.slots if slot.slot.pair_id]
    table = pair_table(
        [
            PairedSlot(
                pair_id=slot.slot.pair_id,
                period=slot.slot.period or 0,
                task_gpu_count=configurations[slot.slot.pk].gpu_count,
                dataset=configurations[slot.slot.pk].legacy_dataset_id,
                configuration_level=configurations[slot.slot.pk].configuration_level,
                outcome=slot.outcome,
                task_runtime_seconds=slot.eligible.runtime_seconds if slot.eligible else None,
            )
            for slot in paired
        ],
        panel.margin_mib,
    )
    by_pair: dict[str, dict[int, SlotState]] = defaultdict(dict)
    for slot in paired:
        by_pair[slot.slot.pair_id][configurations[slot.slot.pk].gpu_count] = slot
    sides = ((row, by_pair[row["pair_id"]]) for row in table)
    return [MatchedPair(row, slots[FEWER_GPUS], slots[MORE_GPUS]) for row, slots in sides]
