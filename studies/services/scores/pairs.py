"""Matched pairs: the same workload, level and seed on two numbers of GPUs of one allocation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Min, Q, QuerySet

from studies.estimation.tables import Pair, PairedSlot, pairs_of
from studies.models import Configuration, SeedSlot, SlotProjection, Study
from studies.services.outcomes.slots import LARGE_COLUMNS, SlotState
from studies.services.scores.panel import Panel
from studies.services.scores.panel_lines import PanelNumbers, SlotLine


@dataclass(frozen=True)
class MatchedPair:
    """One pair, and the slots of its runs on fewer and on more GPUs."""

    pair: Pair
    fewer: SlotState | SlotLine
    more: SlotState | SlotLine


@dataclass(frozen=True)
class PairNumbers:
    """How many pairs there are, and how many have an eligible outcome or a completion on both sides."""

    pairs: int
    both_eligible: int
    both_completed: int


def matched_pairs(panel: Panel) -> list[MatchedPair]:
    """The panel's pairs in schedule order; slots that belong to no pair are left out.

    Raises ``EstimationError`` for a pair that is not two runs on different numbers of GPUs.
    """
    configurations = {slot.slot.pk: row.configuration for row in panel.rows for slot in row.slots}
    return _matched([slot for slot in panel.slots if slot.slot.pair_id], configurations, panel.margin_mib)


def pair_numbers(study: Study) -> PairNumbers:
    """The study's matched pairs, counted by the database."""
    pairs = (
        SlotProjection.objects.filter(study=study)
        .exclude(slot__pair_id="")
        .values("slot__pair_id")
        .annotate(
            eligible=Count("kind"), completed=Count("kind", filter=Q(kind="completed")), slots=Count("pk")
        )
    )
    found = pairs.aggregate(
        pairs=Count("slots"),
        both_eligible=Count("slots", filter=Q(eligible=2)),
        both_completed=Count("slots", filter=Q(completed=2)),
    )
    return PairNumbers(**found)


def pair_names(study: Study) -> QuerySet:
    """The names of the pairs in schedule order."""
    slots = SeedSlot.objects.filter(study=study).exclude(pair_id="").order_by()
    first = slots.values("pair_id").annotate(first=Min("position")).order_by("first")
    return first.values_list("pair_id", flat=True)


def pairs_called(panel: PanelNumbers, names: Collection[str]) -> list[MatchedPair]:
    """These pairs of the panel, in schedule order.

    Raises ``EstimationError`` for a pair that is not two runs on different numbers of GPUs.
    """
    rows = (
        SeedSlot.objects.filter(study=panel.study, pair_id__in=names)
        .select_related("configuration", "projection__eligible")
        .defer(*(f"projection__eligible__{name}" for name in LARGE_COLUMNS))
        .order_by("position")
    )
    slots = [SlotLine(row, panel.rules.tries) for row in rows]
    return _matched(slots, {row.slot.pk: row.slot.configuration for row in slots}, panel.margin_mib)


def _matched(
    paired: Sequence[SlotState] | Sequence[SlotLine],
    configurations: Mapping[int, Configuration],
    margin_mib: float,
) -> list[MatchedPair]:
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
        margin_mib,
    )
    by_pair: dict[str, dict[int, SlotState | SlotLine]] = defaultdict(dict)
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
