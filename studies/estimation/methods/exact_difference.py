"""Exact difference: measured neighbours, moved by volumes that are exact on paper. It fits nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from studies.estimation.errors import EstimationError
from studies.estimation.interval import Interval, label_of_peak, spanned
from studies.estimation.labels import Label
from studies.estimation.methods.base import Matched, Method, Prediction, key_in
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.reasons import About, Column, Neighbour, Reasons, Ref, Table
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.volumes import MIB_PER_GIB, component_volumes

RULE = "measured_neighbours_with_exact_differences"
"""What a protocol says to call for this method; it has no number of its own."""

EXACT = ("generation_budget_gib", "resident_actor_shards_gib", "largest_unit_proxy_gib")
"""The volumes that are exact on paper, GiB."""


@dataclass(frozen=True)
class Statement:
    """What one neighbour says about a target.

    Attributes:
        donor: the measured configuration.
        terms_mib: target's less donor's volume, for each name of `EXACT`.
        peak_mib: measured peak and all terms; for a failed donor its capacity and all terms.
        at_least: the donor failed, so the target needs more than `peak_mib`.
    """

    donor: PoolConfiguration
    terms_mib: tuple[float, ...]
    peak_mib: float
    at_least: bool

    @property
    def interval(self) -> Interval:
        """A point, or everything above it."""
        return Interval(self.peak_mib, None if self.at_least else self.peak_mib)


class ExactDifference(Method):
    """The interval over all measured neighbours, each moved by the exact difference to the target.

    A neighbour has the target's workload and compound level; the target's GPU count if any such neighbour
    has it. One that completed says its peak plus the difference of three volumes; one that failed says only
    that more than its capacity plus that difference is needed.

    Args:
        capacity_mib: device capacity, MiB.
        margin_mib: memory margin, MiB.

    Attributes after `fit`:
        neighbours_: measured configurations by (workload, level).
    """

    name: ClassVar[str] = "exact_difference"
    words: ClassVar[str] = "exact difference"
    order: ClassVar[int] = 50
    colour: ClassVar[str] = "#CC79A7"
    protocol_key: ClassVar[str] = "exact_difference"
    learns: ClassVar[bool] = False
    any_limits: ClassVar[bool] = True
    development_value: ClassVar[object] = RULE

    neighbours_: dict[tuple[str, str], list[PoolConfiguration]]

    def __init__(self, capacity_mib: float, margin_mib: float) -> None:
        self.capacity_mib = capacity_mib
        self.margin_mib = margin_mib

    @classmethod
    def about(cls) -> About:
        """What the page says."""
        return About(
            claim=(
                "Two runs of the same workload and level differ in memory by what differs between them on "
                "paper. So a measured neighbour's peak, moved by that difference, is the target's peak. "
                "Neighbours of different families measure what the volumes don't explain. It fits nothing."
            ),
            formula=(
                "v = generation budget + resident actor shards + largest unit",
                "peak(target) = peak(neighbour) + v(target) − v(neighbour), for each neighbour",
                "a neighbour that failed: more than capacity + v(target) − v(neighbour), no upper end",
                "answer: the interval from the lowest to the highest, and its mid-point",
            ),
            limits=(
                "It leans on rollout peaks. A setting with offloaded parameters peaks elsewhere; there, on "
                "the pool of RLVRAMBench, it was wrong by up to 4.2 GiB, far below the margin.",
                "With a single neighbour the interval is a point, and nothing is known about the spread.",
                "It knows one type of device and one trainer.",
            ),
        )

    @classmethod
    def read_rule(cls, protocol: Mapping[str, object], offender: str) -> MethodParameters:
        """Check that the protocol asks for the implemented rule."""
        value = key_in(protocol, cls.protocol_key, offender)
        if value != RULE:
            raise EstimationError(offender, cls.protocol_key, value, RULE)
        return {"rule": RULE}

    @classmethod
    def from_rules(cls, rules: ProtocolRules) -> Self:
        """Limits as the protocol has them."""
        rules.require_fitting()
        return cls(rules.device_capacity_mib, rules.memory_margin_limit_mib)

    def fit(self, pool: Pool) -> Self:
        """Group the measured configurations by workload and level."""
        self.neighbours_ = {}
        for configuration in pool:
            self.neighbours_.setdefault(_group(configuration), []).append(configuration)
        return self

    def statements(self, target: Target) -> list[Statement]:
        """What each permitted neighbour says, the lowest first.

        Raises:
            EstimationError: there is no neighbour.
        """
        self.require_fitted("neighbours_")
        found = self.neighbours_.get(_group(target), [])
        same = [item for item in found if item.settings.gpu_count == target.settings.gpu_count]
        if not found:
            workload, level = _group(target)
            raise EstimationError(
                target.configuration_id,
                "donor",
                None,
                f"a fitting configuration with workload {workload} and level {level}",
            )
        stated = [statement(target, donor) for donor in same or found]
        return sorted(stated, key=lambda item: (item.peak_mib, item.donor.configuration_id))

    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """The interval over all neighbours of each target, and its answer.

        Raises:
            EstimationError: a target without neighbour.
        """
        predictions = []
        for target, budget in zip(targets, self.startup_budgets(targets), strict=True):
            stated = self.statements(target)
            interval = spanned(item.interval for item in stated)
            predictions.append(
                Prediction(
                    configuration_id=target.configuration_id,
                    method=self.name,
                    predicted_state=interval.answer(self.margin_mib, self.capacity_mib),
                    startup_budget=budget,
                    predicted_peak_mib=interval.middle,
                    interval=interval,
                    remark="one measured neighbour only: its spread is unknown" if len(stated) == 1 else None,
                )
            )
        return predictions

    @classmethod
    def answer_task(cls, rules: ProtocolRules, donors: Pool, queries: Sequence[Matched]) -> list[Prediction]:
        """One permitted neighbour a query: its point gives the label, and a failed one's label is copied."""
        method = cls.from_rules(rules)
        budgets = cls.startup_budgets([query.target for query in queries])
        predictions = []
        for query, budget in zip(queries, budgets, strict=True):
            stated = statement(query.target, donors.by_id[query.source.configuration_id])
            predictions.append(
                Prediction(
                    configuration_id=query.target.configuration_id,
                    method=cls.name,
                    predicted_state=Label.MEMORY_FAILURE
                    if stated.at_least
                    else label_of_peak(stated.peak_mib, method.margin_mib, method.capacity_mib),
                    startup_budget=budget,
                    predicted_peak_mib=None if stated.at_least else stated.peak_mib,
                )
            )
        return predictions

    def fitted_parameters(self) -> dict[str, Any]:
        """Nothing beyond the fitting configurations, which the study records for all methods."""
        return {}

    @classmethod
    def restore(cls, parameters: Mapping[str, Any], rules: ProtocolRules, pool: Pool) -> Self:
        """The neighbours are the recorded fitting configurations."""
        return cls.from_rules(rules).fit(pool)

    def explain(self, target: Target) -> Reasons:
        """Every neighbour with its difference term by term."""
        stated = self.statements(target)
        completed = sum(not item.at_least for item in stated)
        number = f"{len(stated)} measured neighbour" + ("s" if len(stated) > 1 else "")
        families = sorted({item.donor.family for item in stated})
        sentences = [
            f"{number} of workload {target.settings.workload_id} and level "
            f"{target.settings.configuration_level}, {completed} of them completed, of the "
            f"{'families' if len(families) > 1 else 'family'} {', '.join(families)}."
        ]
        if len(stated) == 1:
            sentences.append("One neighbour gives a point; nothing is known about its spread.")
        if completed < len(stated):
            sentences.append("A neighbour that failed says only what is needed at least, so no upper end.")
        columns = (
            Column("Neighbour"),
            Column("Family"),
            Column("Measured", "MiB"),
            *(Column(f"+ {name.removesuffix('_gib').replace('_', ' ')}", "MiB") for name in EXACT),
            Column("= target", "MiB"),
        )
        rows = tuple(
            (
                Ref(item.donor.configuration_id),
                item.donor.family,
                "failed" if item.at_least else item.donor.completed_peak_mib,
                *item.terms_mib,
                f"more than {item.peak_mib:,.0f}" if item.at_least else item.peak_mib,
            )
            for item in stated
        )
        return Reasons(
            "which neighbours",
            tuple(sentences),
            (
                Table(
                    "Each neighbour's peak, moved by what differs on paper. Nothing is fitted.", columns, rows
                ),
            ),
            tuple(
                Neighbour(item.donor.configuration_id, item.donor.family, item.peak_mib, item.at_least)
                for item in stated
            ),
        )


def statement(target: Target, donor: PoolConfiguration) -> Statement:
    """What `donor` says about the peak of `target`, MiB."""
    own, theirs = _exact_mib(target), _exact_mib(donor)
    terms = tuple(one - other for one, other in zip(own, theirs, strict=True))
    failed = donor.completed_peak_mib is None
    start = (
        donor.settings.device_capacity_mib if donor.completed_peak_mib is None else donor.completed_peak_mib
    )
    return Statement(donor, terms, start + sum(terms), failed)


def _exact_mib(target: Target) -> tuple[float, ...]:
    volumes = component_volumes(target.settings, target.architecture, EXACT)
    return tuple(volume * MIB_PER_GIB for volume in volumes)


def _group(target: Target) -> tuple[str, str]:
    return target.settings.workload_id, target.settings.configuration_level
