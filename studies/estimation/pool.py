"""The fitting pool and the targets, checked at the door.

A `Target` carries no outcome at all, so a method that is given targets can't read one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from studies.estimation.errors import EstimationError
from studies.estimation.fields import number_in, require_whole, whole_in
from studies.estimation.labels import Label, exceeds_margin, is_peak, parse_label
from studies.estimation.volumes import Architecture, Settings, component_volumes

__all__ = ["Pool", "PoolConfiguration", "Target", "check_targets", "feature_matrix"]


@dataclass(frozen=True)
class Target:
    """A configuration to be predicted: its settings and its model, nothing observed."""

    settings: Settings
    architecture: Architecture

    def __post_init__(self) -> None:
        if self.settings.model_id != self.architecture.model_id:
            raise EstimationError(
                self.configuration_id,
                "model_id",
                self.settings.model_id,
                f"the architecture's {self.architecture.model_id}",
            )

    @property
    def configuration_id(self) -> str:
        return self.settings.configuration_id

    @property
    def family(self) -> str:
        """Architecture family of the model."""
        return self.architecture.family


@dataclass(frozen=True)
class PoolConfiguration(Target):
    """A configuration with its recorded outcome, open to fitting.

    Attributes:
        label: repeated label of the eligible outcomes.
        completed_peak_mib: largest peak of the processes, MiB; None when they didn't all complete.
        eligible_processes: outcomes that count, as many as their study planned.
        recorded_attempts: invocations it took to get them, excluded ones included.
    """

    label: Label
    completed_peak_mib: float | None
    eligible_processes: int
    recorded_attempts: int

    def __post_init__(self) -> None:
        super().__post_init__()
        offender = self.configuration_id
        if not isinstance(self.label, Label):
            parse_label(self.label, offender)
            raise EstimationError(offender, "label", self.label, "a Label")
        require_whole(self.eligible_processes, offender, "eligible_processes", 1)
        require_whole(self.recorded_attempts, offender, "recorded_attempts", self.eligible_processes)
        self._check_peak(offender)

    def _check_peak(self, offender: str) -> None:
        peak = self.completed_peak_mib
        if self.label is Label.MEMORY_FAILURE:
            if peak is not None:
                raise EstimationError(
                    offender,
                    "completed_peak_mib",
                    peak,
                    "no peak, because a process failed and none stands in for it",
                )
            return
        if peak is None or not is_peak(peak):
            raise EstimationError(
                offender,
                "completed_peak_mib",
                peak,
                f"a finite peak above zero in MiB for label {self.label}",
            )
        if exceeds_margin(peak, self.settings.margin_limit_mib) != (self.label is Label.ABOVE_MARGIN):
            raise EstimationError(
                offender,
                "label",
                self.label.value,
                f"the label of a peak of {peak} MiB at a margin of {self.settings.margin_limit_mib} MiB",
            )

    @classmethod
    def from_rows(
        cls, row: Mapping[str, str], outcome: Mapping[str, str], architectures: Mapping[str, Architecture]
    ) -> PoolConfiguration:
        """Join a row of a configurations table with its row of an outcomes table, both as texts.

        Raises:
            EstimationError: rows of two configurations, a model without architecture, counts that
                contradict the label, or any blank that a rule needs.
        """
        settings = Settings.from_row(row)
        offender = settings.configuration_id
        if outcome.get("configuration_id") != offender:
            raise EstimationError(
                offender, "outcome row", outcome.get("configuration_id"), "the same configuration"
            )
        if settings.model_id not in architectures:
            raise EstimationError(
                offender, "model_id", settings.model_id, "one of " + ", ".join(sorted(architectures))
            )
        label = parse_label(outcome.get("observed_state"), offender, "observed_state")
        eligible = whole_in(outcome, "eligible_processes", offender)
        if whole_in(outcome, "distinct_seeds", offender) != eligible:
            raise EstimationError(
                offender,
                "distinct_seeds",
                outcome["distinct_seeds"],
                f"as many as eligible_processes, {eligible}",
            )
        completed = whole_in(outcome, "completed_eligible_processes", offender)
        failures = whole_in(outcome, "memory_failure_processes", offender)
        if completed + failures != eligible:
            raise EstimationError(
                offender,
                "completed_eligible_processes",
                completed,
                f"{eligible} eligible less {failures} failed processes",
            )
        if (failures > 0) != (label is Label.MEMORY_FAILURE):
            raise EstimationError(
                offender, "observed_state", label.value, f"the label of {failures} failed processes"
            )
        return cls(
            settings=settings,
            architecture=architectures[settings.model_id],
            label=label,
            completed_peak_mib=None
            if failures
            else number_in(outcome, "max_completed_run_peak_mib", offender),
            eligible_processes=eligible,
            recorded_attempts=whole_in(outcome, "recorded_attempts", offender),
        )

    def as_target(self) -> Target:
        """The same configuration without anything observed."""
        return Target(self.settings, self.architecture)


def feature_matrix(targets: Sequence[Target], names: Sequence[str]) -> NDArray[np.float64]:
    """Volumes of `targets` as rows and of `names` as columns, float64, GiB."""
    rows = [component_volumes(target.settings, target.architecture, names) for target in targets]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


@dataclass(frozen=True)
class Pool:
    """Fitting configurations, each once, ordered by configuration id."""

    configurations: tuple[PoolConfiguration, ...]

    @classmethod
    def of(cls, configurations: Iterable[PoolConfiguration]) -> Pool:
        """Order and check the configurations.

        Raises:
            EstimationError: no configuration, a duplicate, or a target that carries no outcome.
        """
        found = list(configurations)
        for configuration in found:
            if not isinstance(configuration, PoolConfiguration):
                raise EstimationError(
                    configuration.configuration_id,
                    "label",
                    None,
                    "a recorded outcome in every pool configuration",
                )
        if not found:
            raise EstimationError("fitting pool", "configurations", 0, "at least one configuration")
        refuse_duplicates((item.configuration_id for item in found), "fitting pool")
        return cls(tuple(sorted(found, key=lambda item: item.configuration_id)))

    def __len__(self) -> int:
        return len(self.configurations)

    def __iter__(self) -> Iterator[PoolConfiguration]:
        return iter(self.configurations)

    def __contains__(self, configuration_id: object) -> bool:
        return configuration_id in self.by_id

    @cached_property
    def by_id(self) -> dict[str, PoolConfiguration]:
        """The configurations by id."""
        return {item.configuration_id: item for item in self.configurations}

    @property
    def configuration_ids(self) -> list[str]:
        """All ids, ascending."""
        return [item.configuration_id for item in self.configurations]

    @property
    def families(self) -> list[str]:
        """The architecture families present, ascending."""
        return sorted({item.family for item in self.configurations})

    @property
    def eligible_processes(self) -> int:
        """Processes whose outcomes count."""
        return sum(item.eligible_processes for item in self.configurations)

    @property
    def recorded_attempts(self) -> int:
        """Invocations recorded, excluded ones included."""
        return sum(item.recorded_attempts for item in self.configurations)

    def restricted_to(self, configuration_ids: Iterable[str], offender: str = "fitting pool") -> Pool:
        """The part of the pool with these ids.

        Raises:
            EstimationError: an id that is not in the pool, or is named twice.
        """
        wanted = list(configuration_ids)
        for configuration_id in wanted:
            if configuration_id not in self.by_id:
                raise EstimationError(
                    offender, "configuration_id", configuration_id, "a configuration of the pool"
                )
        return Pool.of(self.by_id[configuration_id] for configuration_id in wanted)

    def without_family(self, family: str) -> Pool:
        """The configurations of every other family."""
        return Pool.of(item for item in self.configurations if item.family != family)

    def only_family(self, family: str) -> Pool:
        """The configurations of one family."""
        return Pool.of(item for item in self.configurations if item.family == family)


def refuse_duplicates(configuration_ids: Iterable[str], offender: str) -> None:
    """Raise an EstimationError that names the first id given twice."""
    seen: set[str] = set()
    for configuration_id in configuration_ids:
        if configuration_id in seen:
            raise EstimationError(offender, "configuration_id", configuration_id, "each configuration once")
        seen.add(configuration_id)


def check_targets(targets: Sequence[Target], pool: Pool) -> None:
    """Refuse duplicated targets and targets that the pool already holds.

    Raises:
        EstimationError: with the target named.
    """
    refuse_duplicates((target.configuration_id for target in targets), "targets")
    for target in targets:
        if target.configuration_id in pool:
            raise EstimationError(
                "targets",
                "configuration_id",
                target.configuration_id,
                "a configuration outside the fitting pool",
            )
