"""`schedule.csv`: slots in planned order, where the author makes the order herself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studies.directory.csv_table import Row, read_table
from studies.directory.problems import Problems
from studies.directory.schedule import Slot
from studies.estimation.errors import EstimationError
from studies.estimation.fields import whole_in
from studies.estimation.volumes import Settings

NAME = "schedule.csv"
REQUIRED = ("experiment_id", "configuration_id", "seed")
OPTIONAL = ("pair_id", "period", "device_ordinals", "timeout_seconds")


def read_schedule(
    folder: Path, configurations: Sequence[Settings], seeds: Sequence[int], problems: Problems
) -> list[Slot]:
    """The slots in the order of the rows. Each configuration has each seed once; pairs have two periods."""
    rows = read_table(folder, NAME, problems, required=REQUIRED, optional=OPTIONAL, key="experiment_id")
    known = {item.configuration_id: item for item in configurations}
    taken: dict[tuple[str, int], int] = {}
    periods: dict[str, dict[int, int]] = {}
    slots: list[Slot] = []
    for row in rows:
        try:
            slot = _slot(row, known, seeds, len(slots))
        except EstimationError as error:
            problems.add_error(NAME, row.line, error)
            continue
        place = (slot.configuration, slot.seed)
        if place in taken:
            problems.add(
                NAME, row.line, "seed", slot.seed,
                f"each seed once for {slot.configuration}; line {taken[place]} has it",
            )  # fmt: skip
        taken.setdefault(place, row.line)
        if slot.pair_id and slot.period is not None:
            earlier = periods.setdefault(slot.pair_id, {}).setdefault(slot.period, row.line)
            if earlier != row.line:
                problems.add(NAME, row.line, "period", slot.period, f"one of each; line {earlier} has it")
        slots.append(slot)
    _complete(known, seeds, taken, problems)
    for pair, found in periods.items():
        if set(found) != {1, 2}:
            problems.add(NAME, min(found.values()), "pair_id", pair, "two rows, periods 1 and 2")
    return slots


def _complete(
    known: dict[str, Settings], seeds: Sequence[int], taken: dict[tuple[str, int], int], problems: Problems
) -> None:
    for name in known:
        missing = [seed for seed in seeds if (name, seed) not in taken]
        if missing:
            problems.add(NAME, None, "rows", f"{name} without seeds {missing}", "a row for each seed")


def _slot(row: Row, known: dict[str, Settings], seeds: Sequence[int], position: int) -> Slot:
    cells = row.cells
    name, offender = cells["configuration_id"], cells["experiment_id"]
    if name not in known:
        raise EstimationError(offender, "configuration_id", name, "a configuration of configurations.csv")
    seed = whole_in(cells, "seed", offender)
    if seed not in seeds:
        raise EstimationError(offender, "seed", seed, f"one of {list(seeds)}")
    pair = cells.get("pair_id", "").strip()
    period = _optional(cells.get("period", ""), "period", offender)
    if bool(pair) != (period is not None) or period not in (None, 1, 2):
        raise EstimationError(offender, "period", cells.get("period", ""), "1 or 2 in a pair, blank outside")
    return Slot(
        configuration=name,
        seed=seed,
        position=position,
        experiment_id=offender,
        pair_id=pair,
        period=period,
        device_ordinals=_ordinals(cells.get("device_ordinals", ""), known[name].gpu_count, offender),
        timeout_seconds=_optional(cells.get("timeout_seconds", ""), "timeout_seconds", offender),
    )


def _optional(text: str, field: str, offender: str) -> int | None:
    if text == "":
        return None
    value = whole_in({field: text}, field, offender)
    if value < 1:
        raise EstimationError(offender, field, value, "a whole number of at least 1")
    return value


def _ordinals(text: str, gpu_count: int, offender: str) -> tuple[int, ...]:
    if text == "":
        return ()
    parts = text.split(";")
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise EstimationError(offender, "device_ordinals", text, "whole numbers joined by ;")
    ordinals = tuple(map(int, parts))
    if len(set(ordinals)) != gpu_count or len(ordinals) != gpu_count:
        raise EstimationError(offender, "device_ordinals", text, f"{gpu_count} different devices")
    return ordinals
