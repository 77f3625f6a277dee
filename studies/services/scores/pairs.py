"""Matched pairs: the same workload, level and seed on two numbers of GPUs of one allocation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from studies.estimation.tables import Pair, PairedSlot, pairs_of
from studies.services.outcomes.slots import SlotState
from studies.services.scores.panel import Panel


@dataclass(frozen=True)
class MatchedPair:
    """One pair, and the slots of its runs on fewer and on more GPUs."""

    pair: Pair
    fewer: SlotState
    more: SlotState


def matched_pairs(panel: Panel) -> list[MatchedPair]:
    """The panel's pairs in schedule order; slots that belong to no pair are left out.

    Raises ``EstimationError`` for a pair that is not two runs on different numbers of GPUs.
    """
    configurations = {slot.slot.pk: row.configuration for row in panel.rows for slot in row.slots}
    paired = [slot for slot in panel.slots if slot.slot.pair_id]
    pairs = pairs_of(
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
    return [
        MatchedPair(
            pair,
            by_pair[pair.first.pair_id][pair.fewer.task_gpu_count],
            by_pair[pair.first.pair_id][pair.more.task_gpu_count],
        )
        for pair in pairs
    ]
