"""Donor copy: predict what the nearest earlier configuration showed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from studies.estimation.errors import EstimationError
from studies.estimation.methods.base import Method, Prediction, key_in
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.reasons import About, Column, Reasons, Ref, Table
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.wording import recognise

SHOWN_CANDIDATES = 10
"""Permitted donors that an explanation lists."""


@dataclass(frozen=True, order=True)
class _Rank:
    """Order of donors, best first."""

    other_gpu_count: bool
    other_family: bool
    log_parameter_ratio: float
    configuration_id: str


@dataclass(frozen=True)
class DonorCandidate:
    """A configuration that may be copied, and what its place in the order rests on.

    Attributes:
        configuration_id: the candidate.
        gpu_count_matches: it has the target's GPU count.
        family_matches: its model is of the target's family.
        log_parameter_ratio: |ln(P_donor / P_target)|.
        label: its observed label.
        completed_peak_mib: its measured peak, MiB, None if it failed.
    """

    configuration_id: str
    gpu_count_matches: bool
    family_matches: bool
    log_parameter_ratio: float
    label: str
    completed_peak_mib: float | None


class DonorCopy(Method):
    """Copy label and peak of the first donor in the study's order.

    A donor has the target's workload and compound level. Same GPU count comes first, then same family,
    then the smallest |ln(P_donor / P_target)|, then the smallest configuration id.

    Attributes after `fit`:
        donors_: candidates by (workload, level).
    """

    name: ClassVar[str] = "donor_copy"
    words: ClassVar[str] = "donor copy"
    order: ClassVar[int] = 10
    colour: ClassVar[str] = "#009E73"
    protocol_key: ClassVar[str] = "donor_rule"
    required: ClassVar[bool] = True
    learns: ClassVar[bool] = False

    donors_: dict[tuple[str, str], list[PoolConfiguration]]

    @classmethod
    def about(cls) -> About:
        """What the page says."""
        return About(
            claim=(
                "What the nearest configuration measured earlier showed, the target will show too. Its label "
                "and its peak are copied; nothing is learned."
            ),
            formula=(
                "donors: the target's workload and level",
                "order: same GPU count, same family, smallest |ln(P donor ÷ P target)|, smallest id",
                "answer: the first donor's label and completed peak",
            ),
            limits=(
                "A donor of another size or family is copied as it is, however much larger the target is.",
                "A donor that failed has no peak, so the copy has none.",
            ),
        )

    @classmethod
    def read_rule(cls, protocol: Mapping[str, object], offender: str) -> MethodParameters:
        """Check that the protocol's donor rule is the implemented one."""
        return {
            "donor_rule": recognise("donor_rule", key_in(protocol, "donor_rule", offender), offender).word
        }

    @classmethod
    def from_rules(cls, rules: ProtocolRules) -> Self:
        """The method has no parameter of its own."""
        rules.require_fitting()
        return cls()

    def fit(self, pool: Pool) -> Self:
        """Group the pool by workload and level."""
        self.donors_ = {}
        for configuration in pool:
            self.donors_.setdefault(_group(configuration), []).append(configuration)
        return self

    def candidates(self, target: Target) -> list[DonorCandidate]:
        """All donors that `target` could copy, best first; the first one is copied.

        Raises:
            EstimationError: there is none.
        """
        return [
            DonorCandidate(
                configuration_id=donor.configuration_id,
                gpu_count_matches=not rank.other_gpu_count,
                family_matches=not rank.other_family,
                log_parameter_ratio=rank.log_parameter_ratio,
                label=donor.label.value,
                completed_peak_mib=donor.completed_peak_mib,
            )
            for rank, donor in sorted(
                ((_rank(donor, target), donor) for donor in self._permitted(target)), key=lambda pair: pair[0]
            )
        ]

    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """Copy each target's donor.

        Raises:
            EstimationError: a target without donor.
        """
        predictions = []
        for target, budget in zip(targets, self.startup_budgets(targets), strict=True):
            donor = min(self._permitted(target), key=lambda item: _rank(item, target))
            predictions.append(
                Prediction(
                    configuration_id=target.configuration_id,
                    method=self.name,
                    predicted_state=donor.label,
                    startup_budget=budget,
                    predicted_peak_mib=donor.completed_peak_mib,
                    donor_configuration_id=donor.configuration_id,
                    donor_gpu_count_matches=donor.settings.gpu_count == target.settings.gpu_count,
                )
            )
        return predictions

    def fitted_parameters(self) -> dict[str, Any]:
        """Nothing beyond the fitting configurations, which the study records for all methods."""
        return {}

    @classmethod
    def restore(cls, parameters: Mapping[str, Any], rules: ProtocolRules, pool: Pool) -> Self:
        """The donors are the recorded fitting configurations."""
        return cls.from_rules(rules).fit(pool)

    def explain(self, target: Target) -> Reasons:
        """The donor, and the first few of those that were permitted."""
        found = self.candidates(target)
        first, more = found[0], len(found) - SHOWN_CANDIDATES
        return Reasons(
            "which donor",
            (
                f"Copied from {first.configuration_id}: {_same(first.gpu_count_matches)} GPU count, "
                f"{_same(first.family_matches)} architecture family, "
                f"{first.log_parameter_ratio:.3f} away in ln(parameters), first of {len(found)} permitted "
                f"donor{'' if len(found) == 1 else 's'}.",
            ),
            (
                Table(
                    "Permitted donors, the best first." + (f" {more} more follow." if more > 0 else ""),
                    (
                        Column("Donor"),
                        Column("GPU count"),
                        Column("Family"),
                        Column("|ln(P donor ÷ P target)|", digits=3),
                        Column("Observed"),
                        Column("Completed peak", "MiB"),
                    ),
                    tuple(
                        (
                            Ref(item.configuration_id),
                            _same(item.gpu_count_matches),
                            _same(item.family_matches),
                            item.log_parameter_ratio,
                            item.label.replace("_", " "),
                            item.completed_peak_mib,
                        )
                        for item in found[:SHOWN_CANDIDATES]
                    ),
                ),
            ),
        )

    def _permitted(self, target: Target) -> list[PoolConfiguration]:
        self.require_fitted("donors_")
        donors = self.donors_.get(_group(target))
        if not donors:
            workload, level = _group(target)
            raise EstimationError(
                target.configuration_id,
                "donor",
                None,
                f"a fitting configuration with workload {workload} and level {level}",
            )
        return donors


def _same(matches: bool) -> str:
    return "same" if matches else "another"


def _group(target: Target) -> tuple[str, str]:
    return target.settings.workload_id, target.settings.configuration_level


def _rank(donor: Target, target: Target) -> _Rank:
    ratio = donor.architecture.floating_checkpoint_elements / target.architecture.floating_checkpoint_elements
    return _Rank(
        other_gpu_count=donor.settings.gpu_count != target.settings.gpu_count,
        other_family=donor.family != target.family,
        log_parameter_ratio=abs(math.log(ratio)),
        configuration_id=donor.configuration_id,
    )
