"""Two phases: a device peaks in the rollout or at the weight sync; one constant for each is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_number
from studies.estimation.interval import Interval, label_of_peak
from studies.estimation.methods.base import Matched, Method, Prediction, key_in
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.reasons import About, Cell, Column, Learned, Part, Reasons, Residual, Stack, Table
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.volumes import MIB_PER_GIB, component_volumes

ROLLOUT, SYNC = "rollout", "weight sync"
QUANTILE = 0.05
"""Share of the residuals left out at each end of a constant's interval."""


@dataclass(frozen=True)
class Constant:
    """A learned constant, MiB: its median, and the quantiles that are its interval."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, residuals: Sequence[float], quantile: float) -> Constant:
        """Quantiles `quantile`, one half and 1 − `quantile` of at least one residual, linear."""
        low, median, high = np.quantile(
            np.array(residuals, dtype=np.float64), [quantile, 0.5, 1 - quantile]
        ).tolist()
        return cls(low, median, high)

    def to_record(self) -> dict[str, float]:
        """As JSON."""
        return {"high": self.high, "low": self.low, "median": self.median}

    @classmethod
    def from_record(cls, record: object, offender: str, field: str) -> Constant:
        """Read a constant back.

        Raises:
            EstimationError: no object of three ordered finite numbers.
        """
        if not isinstance(record, Mapping):
            raise EstimationError(offender, field, record, "an object with low, median and high")
        found = cls(
            *(
                require_number(record.get(key), offender, f"{field}.{key}")
                for key in ("low", "median", "high")
            )
        )
        if not found.low <= found.median <= found.high:
            raise EstimationError(offender, field, dict(record), "low, median and high in ascending order")
        return found


@dataclass(frozen=True)
class Phase:
    """One phase of one target: the volumes that it adds up (GiB by feature, how often) and its constant."""

    name: str
    parts: tuple[Part, ...]
    constant: Constant | None

    @property
    def base_mib(self) -> float:
        """The volumes together, MiB."""
        return sum(part.gib for part in self.parts) * MIB_PER_GIB

    def peak_mib(self, end: str) -> float | None:
        """Volumes and the constant's `low`, `median` or `high`; None where nothing was learned of it."""
        return None if self.constant is None else self.base_mib + float(getattr(self.constant, end))


class TwoPhase(Method):
    """The higher of two phases, each an exact sum of volumes plus one learned constant with an interval.

    In the rollout the generation engine's reservation stands beside the resident shards. While weights are
    handed over, offloaded shards are loaded back and gathered, whatever the reservation is.

    Args:
        capacity_mib: device capacity, MiB.
        margin_mib: memory margin, MiB.
        quantile: share of the residuals left out at each end, from 0 to below one half.

    Attributes after `fit`:
        rollout_: constant of the rollout.
        sync_: constant of the hand-over; None where no fitting configuration showed one.
    """

    name: ClassVar[str] = "two_phase"
    words: ClassVar[str] = "two phases"
    order: ClassVar[int] = 40
    colour: ClassVar[str] = "#0072B2"
    protocol_key: ClassVar[str] = "two_phase"
    learns: ClassVar[bool] = False
    any_limits: ClassVar[bool] = True
    development_value: ClassVar[object] = {"quantile": QUANTILE}

    rollout_: Constant
    sync_: Constant | None

    def __init__(self, capacity_mib: float, margin_mib: float, quantile: float) -> None:
        self.capacity_mib = capacity_mib
        self.margin_mib = margin_mib
        self.quantile = quantile

    @classmethod
    def about(cls) -> About:
        """What the page says."""
        return About(
            claim=(
                "A device peaks in one of two phases. Either the generation engine holds its reservation "
                "beside the trainer's resident shards, or weights are gathered and handed to the engine; "
                "that phase takes no account of the reservation and loads offloaded shards back. Only one "
                "constant for each phase is learned, with an interval."
            ),
            formula=(
                "rollout = generation budget + resident actor shards + largest unit",
                "weight sync = actor shards + 2 × generation replica (+ generation budget where the engine "
                "keeps its cache)",
                "peak = the higher of rollout + a and weight sync + b",
            ),
            limits=(
                "Its second phase was taken from looking at the offloaded peaks of RLVRAMBench's families.",
                "How the weight sync falls with the number of GPUs is an assumption: where it was developed, "
                "on the pool of RLVRAMBench, settings with offload were measured on two GPUs only.",
                "There it also approved, outside its fit, two Granite settings (mathematics, two GPUs, a "
                "long horizon) that lay above the margin, and no volume explains them.",
                "It knows one type of device and one trainer.",
            ),
            residual_title="measured peak less the phase's volumes, MiB",
        )

    @classmethod
    def read_rule(cls, protocol: Mapping[str, object], offender: str) -> MethodParameters:
        """Keep the protocol's quantile.

        Raises:
            EstimationError: another key, or a quantile outside 0 to one half.
        """
        rule = key_in(protocol, cls.protocol_key, offender)
        if not isinstance(rule, Mapping) or set(rule) != {"quantile"}:
            raise EstimationError(
                offender, cls.protocol_key, rule, "an object with quantile and nothing else"
            )
        quantile = require_number(rule["quantile"], offender, f"{cls.protocol_key}.quantile")
        if not 0 <= quantile < 0.5:
            raise EstimationError(
                offender, f"{cls.protocol_key}.quantile", quantile, "a number from 0 to below one half"
            )
        return {"quantile": quantile}

    @classmethod
    def from_rules(cls, rules: ProtocolRules) -> Self:
        """Limits and quantile as the protocol has them."""
        quantile = rules.require_fitting().methods[cls.name]["quantile"]
        return cls(rules.device_capacity_mib, rules.memory_margin_limit_mib, float(quantile))

    def fit(self, pool: Pool) -> Self:
        """Learn both constants from the completed configurations.

        Raises:
            EstimationError: none that completed has resident parameters.
        """
        rollout = [item.mib for item in rollout_residuals(pool)]
        if not rollout:
            raise EstimationError(
                self.name,
                "completed configuration with resident parameters",
                None,
                "at least one in the fitting pool",
            )
        self.rollout_ = Constant.of(rollout, self.quantile)
        sync = [item.mib for item in sync_residuals(pool, self.rollout_.high)]
        self.sync_ = Constant.of(sync, self.quantile) if sync else None
        return self

    def phases(self, target: Target) -> tuple[Phase, Phase]:
        """Both phases of a target, the rollout first."""
        self.require_fitted("rollout_", "sync_")
        return Phase(ROLLOUT, _rollout(target), self.rollout_), Phase(SYNC, _sync(target), self.sync_)

    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """The higher phase of each target, its interval and its answer."""
        predictions = []
        for target, budget in zip(targets, self.startup_budgets(targets), strict=True):
            phases = self.phases(target)
            interval = Interval(_higher(phases, "low"), _higher(phases, "high"))
            predictions.append(
                Prediction(
                    configuration_id=target.configuration_id,
                    method=self.name,
                    predicted_state=interval.answer(self.margin_mib, self.capacity_mib),
                    startup_budget=budget,
                    predicted_peak_mib=_higher(phases, "median"),
                    interval=interval,
                    remark=None
                    if self.sync_
                    else "the weight sync is left out: no fitting configuration showed its peak",
                )
            )
        return predictions

    @classmethod
    def answer_task(cls, rules: ProtocolRules, donors: Pool, queries: Sequence[Matched]) -> list[Prediction]:
        """Medians of one donor case, no interval. Its largest rollout residual separates the phases."""
        method = cls.from_rules(rules)
        method.quantile = 0.0
        method.fit(donors)
        predictions = method.predict([query.target for query in queries])
        return [
            replace(
                item,
                predicted_state=label_of_peak(
                    item.predicted_peak_mib or 0.0, method.margin_mib, method.capacity_mib
                ),
                interval=None,
            )
            for item in predictions
        ]

    def fitted_parameters(self) -> dict[str, Any]:
        """Both constants, MiB."""
        self.require_fitted("rollout_", "sync_")
        return {
            self.name: {
                "quantile": self.quantile,
                "rollout_constant_mib": self.rollout_.to_record(),
                "weight_sync_constant_mib": self.sync_.to_record() if self.sync_ else None,
            }
        }

    @classmethod
    def restore(cls, parameters: Mapping[str, Any], rules: ProtocolRules, pool: Pool) -> Self:
        """Read both constants back.

        Raises:
            EstimationError: a missing or malformed constant, or another quantile than the protocol's.
        """
        method = cls.from_rules(rules)
        recorded = parameters.get(cls.name)
        if not isinstance(recorded, Mapping) or recorded.get("quantile") != method.quantile:
            raise EstimationError(
                cls.name, "quantile", recorded, f"constants learned with quantile {method.quantile}"
            )
        rollout, sync = recorded.get("rollout_constant_mib"), recorded.get("weight_sync_constant_mib")
        method.rollout_ = Constant.from_record(rollout, cls.name, "rollout_constant_mib")
        method.sync_ = (
            None if sync is None else Constant.from_record(sync, cls.name, "weight_sync_constant_mib")
        )
        return method

    def explain(self, target: Target) -> Reasons:
        """Both phases as stacks; the higher one decides."""
        phases = self.phases(target)
        deciding = max(phases, key=lambda phase: phase.peak_mib("median") or 0.0)
        sentences = [f"{deciding.name.capitalize()} decides: its peak is the higher of the two."]
        if self.sync_ is None:
            sentences.append(
                "The weight sync is left out: no fitting configuration showed a peak of that phase."
            )
        return Reasons(
            "two phases",
            tuple(sentences),
            (_phase_table(phases),),
            stacks=tuple(
                Stack(
                    f"{phase.name} phase",
                    (*phase.parts, Part("learned constant", phase.constant.median / MIB_PER_GIB)),
                    (phase.base_mib + phase.constant.low) / MIB_PER_GIB,
                    (phase.base_mib + phase.constant.high) / MIB_PER_GIB,
                    f"{phase.name} decides" if phase is deciding else "",
                )
                for phase in phases
                if phase.constant is not None
            ),
        )

    def learned(self) -> tuple[Learned, ...]:
        """The constants."""
        self.require_fitted("rollout_", "sync_")
        named = (("a, rollout", self.rollout_), ("b, weight sync", self.sync_))
        return tuple(
            Learned(name, "MiB", item.median, item.low, item.high) for name, item in named if item is not None
        )

    def formula(self) -> tuple[str, ...]:
        """The formula with the learned constants in it."""
        self.require_fitted("rollout_", "sync_")
        first = f"rollout + {_shown(self.rollout_)}"
        second = f"weight sync + {_shown(self.sync_)}" if self.sync_ else ""
        return (f"peak = the higher of {first} and {second}" if second else f"peak = {first}",)

    def residuals(self, pool: Pool) -> tuple[Residual, ...]:
        """What each constant was learned from, by phase."""
        self.require_fitted("rollout_")
        return (*rollout_residuals(pool), *sync_residuals(pool, self.rollout_.high))


def rollout_residuals(pool: Pool) -> list[Residual]:
    """Peak less the rollout's volumes, MiB, of the completed configurations with resident parameters."""
    return [_residual(item, ROLLOUT) for item in _completed(pool) if not item.settings.parameter_offload]


def sync_residuals(pool: Pool, highest_rollout_mib: float) -> list[Residual]:
    """Peak less the hand-over's volumes, MiB, of the offloaded ones whose peak is not the rollout's."""
    return [
        _residual(item, SYNC)
        for item in _completed(pool)
        if item.settings.parameter_offload and _residual(item, ROLLOUT).mib > highest_rollout_mib
    ]


def _completed(pool: Pool) -> list[PoolConfiguration]:
    return [item for item in pool if item.completed_peak_mib is not None]


def _residual(item: PoolConfiguration, phase: str) -> Residual:
    assert item.completed_peak_mib is not None
    parts = _rollout(item) if phase == ROLLOUT else _sync(item)
    volumes = sum(part.gib for part in parts) * MIB_PER_GIB
    return Residual(item.configuration_id, item.family, phase, item.completed_peak_mib - volumes)


def _rollout(target: Target) -> tuple[Part, ...]:
    return _parts(target, "generation_budget_gib", "resident_actor_shards_gib", "largest_unit_proxy_gib")


def _sync(target: Target) -> tuple[Part, ...]:
    names = ["actor_shards_gib", "generation_replica_gib", "generation_replica_gib"]
    if not target.settings.free_cache_engine:
        names.append("generation_budget_gib")
    return _parts(target, *names)


def _parts(target: Target, *names: str) -> tuple[Part, ...]:
    volumes = component_volumes(target.settings, target.architecture, names)
    return tuple(Part(*pair) for pair in zip(names, volumes, strict=True))


def _higher(phases: Sequence[Phase], end: str) -> float:
    return max(peak for phase in phases if (peak := phase.peak_mib(end)) is not None)


def _phase_table(phases: Sequence[Phase]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for phase in phases:
        rows += [(phase.name, part.name, part.gib * MIB_PER_GIB, None, None) for part in phase.parts]
        if phase.constant is not None:
            constant = phase.constant
            rows.append((phase.name, "learned constant", constant.median, constant.low, constant.high))
            peaks = [phase.peak_mib(end) for end in ("median", "low", "high")]
            rows.append((phase.name, "peak", *peaks))
    columns = (
        Column("Phase"),
        Column("Addend"),
        Column("Middle", "MiB"),
        Column("Lower end", "MiB"),
        Column("Upper end", "MiB"),
    )
    return Table("Each phase adds up exact volumes and one learned constant.", columns, tuple(rows))


def _shown(constant: Constant) -> str:
    return f"{constant.median:,.0f} MiB ({constant.low:,.0f} to {constant.high:,.0f})"
