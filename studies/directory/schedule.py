"""Which process runs when: every configuration with every seed, in a random order that can be made again.

The order is drawn from a recorded seed by `random.Random(seed).shuffle`, whose result Python keeps stable.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from studies.directory.study_file import ScheduleRule
from studies.estimation.errors import EstimationError
from studies.estimation.volumes import Settings


@dataclass(frozen=True)
class Slot:
    """One planned process.

    Attributes:
        position: place in the order, from 0.
        pair_id, period: the pair and the place in it, 1 or 2; empty and None outside a pair.
        device_ordinals: which devices of the allocation it uses.
    """

    configuration: str
    seed: int
    position: int
    experiment_id: str
    pair_id: str
    period: int | None
    device_ordinals: tuple[int, ...]
    timeout_seconds: int | None

    def to_record(self) -> dict[str, object]:
        """The columns of a recorded slot."""
        return asdict(self) | {"device_ordinals": list(self.device_ordinals)}


def make_schedule(configurations: Sequence[Settings], seeds: Sequence[int], rule: ScheduleRule) -> list[Slot]:
    """Every configuration with every seed, in random order.

    With `pair_by_gpu_count` the two runs of a pair follow each other; which GPU count comes first is drawn so
    that both come first equally often (one more where the number of pairs is odd). Device subsets are drawn.

    Raises:
        EstimationError: a configuration of more GPUs than the allocation has, or one without partner.
    """
    for item in configurations:
        if item.gpu_count > rule.devices:
            raise EstimationError(
                item.configuration_id, "gpu_count", item.gpu_count, f"at most the allocation's {rule.devices}"
            )
    draw = random.Random(rule.order_seed)  # noqa: S311 - an order that can be made again, not a secret
    groups = _pairs(configurations, seeds) if rule.pair_by_gpu_count else [
        ("", [(item, seed)]) for item in configurations for seed in seeds
    ]  # fmt: skip
    draw.shuffle(groups)
    fewer_first = [bool(number % 2) for number in range(len(groups))]
    draw.shuffle(fewer_first)
    slots: list[Slot] = []
    for (pair, runs), fewer in zip(groups, fewer_first, strict=True):
        ordered = sorted(runs, key=lambda run: run[0].gpu_count, reverse=not fewer)
        for period, (item, seed) in enumerate(ordered, start=1):
            devices = tuple(sorted(draw.sample(range(rule.devices), item.gpu_count)))
            slots.append(
                Slot(
                    configuration=item.configuration_id,
                    seed=seed,
                    position=len(slots),
                    experiment_id=f"{item.configuration_id}-seed{seed}",
                    pair_id=pair,
                    period=period if pair else None,
                    device_ordinals=devices,
                    timeout_seconds=rule.timeout_seconds,
                )
            )
    return slots


_Run = tuple[Settings, int]


def _pairs(configurations: Sequence[Settings], seeds: Sequence[int]) -> list[tuple[str, list[_Run]]]:
    partners: dict[tuple[str, ...], list[Settings]] = {}
    for item in configurations:
        place: tuple[str, ...] = (item.model_id, item.workload_id, item.configuration_level)
        partners.setdefault(place, []).append(item)
    groups: list[tuple[str, list[_Run]]] = []
    for place, found in partners.items():
        counts = {item.gpu_count for item in found}
        if len(found) != 2 or len(counts) != 2:
            raise EstimationError(
                found[0].configuration_id,
                "gpu_count",
                sorted(item.gpu_count for item in found),
                f"two different ones for {' '.join(place)}, because the schedule pairs by GPU count",
            )
        for seed in seeds:
            name = f"pair-{len(groups) + 1}"
            groups.append((name, [(item, seed) for item in found]))
    return groups


def gpu_seconds(slots: Sequence[Slot], gpu_counts: Mapping[str, int]) -> int | None:
    """The most GPU time that the slots can take, s: each until its time-out. None where one has none."""
    total = 0
    for slot in slots:
        if slot.timeout_seconds is None:
            return None
        total += slot.timeout_seconds * gpu_counts[slot.configuration]
    return total
