"""What every method has in common: its contract and the prediction it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_boolean, require_number, require_text
from studies.estimation.labels import Label, parse_label
from studies.estimation.pool import Pool, Target
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.volumes import StartupBudget, startup_budget


@dataclass(frozen=True)
class Prediction:
    """One method's prediction for one configuration.

    Attributes:
        configuration_id: the target.
        method: name of the method.
        predicted_state: predicted label; `within_margin` approves.
        startup_budget: startup check of the target, the same for every method.
        predicted_peak_mib: predicted completed peak, MiB, where the method has one.
        donor_configuration_id, donor_gpu_count_matches: donor copy only.
        peak_only_predicted_state, startup_guard_changed_state: component regression only.
    """

    configuration_id: str
    method: str
    predicted_state: Label
    startup_budget: StartupBudget
    predicted_peak_mib: float | None = None
    donor_configuration_id: str | None = None
    donor_gpu_count_matches: bool | None = None
    peak_only_predicted_state: Label | None = None
    startup_guard_changed_state: bool | None = None

    @property
    def approves(self) -> bool:
        """Whether the configuration is approved."""
        return self.predicted_state.approves

    def to_record(self) -> dict[str, object]:
        """The prediction under the archive's key names."""
        peak_only = self.peak_only_predicted_state
        return {
            "configuration_id": self.configuration_id,
            "donor_configuration_id": self.donor_configuration_id,
            "donor_gpu_count_matches": self.donor_gpu_count_matches,
            "method": self.method,
            "peak_only_predicted_state": None if peak_only is None else peak_only.value,
            "predicted_peak_mib": self.predicted_peak_mib,
            "predicted_state": self.predicted_state.value,
            "startup_budget_diagnostic": self.startup_budget.to_record(),
            "startup_guard_changed_state": self.startup_guard_changed_state,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> Prediction:
        """Read a prediction back.

        Raises:
            EstimationError: a missing field, a third outcome label, or a number that is not finite.
        """
        target = require_text(record.get("configuration_id"), "prediction", "configuration_id")
        method = require_text(record.get("method"), f"prediction for {target}", "method")
        offender = f"prediction of {method} for {target}"
        for field in _RECORD_FIELDS:
            if field not in record:
                raise EstimationError(offender, field, None, "the field in every prediction")
        peak, donor = record["predicted_peak_mib"], record["donor_configuration_id"]
        matches, changed = record["donor_gpu_count_matches"], record["startup_guard_changed_state"]
        peak_only = record["peak_only_predicted_state"]
        return cls(
            configuration_id=target,
            method=method,
            predicted_state=parse_label(record["predicted_state"], offender, "predicted_state"),
            startup_budget=StartupBudget.from_record(record["startup_budget_diagnostic"], offender),
            predicted_peak_mib=None if peak is None else require_number(peak, offender, "predicted_peak_mib"),
            donor_configuration_id=None
            if donor is None
            else require_text(donor, offender, "donor_configuration_id"),
            donor_gpu_count_matches=(
                None if matches is None else require_boolean(matches, offender, "donor_gpu_count_matches")
            ),
            peak_only_predicted_state=(
                None if peak_only is None else parse_label(peak_only, offender, "peak_only_predicted_state")
            ),
            startup_guard_changed_state=(
                None if changed is None else require_boolean(changed, offender, "startup_guard_changed_state")
            ),
        )

    def for_configuration(self, configuration_id: str) -> Prediction:
        """The same prediction, inherited by another configuration."""
        return replace(self, configuration_id=configuration_id)


_RECORD_FIELDS = (
    "predicted_state",
    "startup_budget_diagnostic",
    "predicted_peak_mib",
    "donor_configuration_id",
    "donor_gpu_count_matches",
    "peak_only_predicted_state",
    "startup_guard_changed_state",
)


class Method(ABC):
    """A method of a study, in the style of scikit-learn.

    The constructor stores parameters, `fit` learns attributes whose names end in `_`, `predict` uses them.

    Class attributes:
        name: the method's name in records.
        order: place in the tables, ascending.
        protocol_key: the key by which a protocol calls for the method.
        required: whether a protocol that fits must have that key.
        learns: whether `fit` estimates parameters, so that it needs every label among what it fits.
    """

    name: ClassVar[str]
    order: ClassVar[int]
    protocol_key: ClassVar[str]
    required: ClassVar[bool] = False
    learns: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def read_rule(cls, protocol: Mapping[str, object], offender: str) -> MethodParameters:
        """Parameters that the protocol sets, after checking that this method implements what it asks for."""

    @classmethod
    @abstractmethod
    def from_rules(cls, rules: ProtocolRules) -> Self:
        """The unfitted method that these rules ask for."""

    @abstractmethod
    def fit(self, pool: Pool) -> Self:
        """Learn from all of `pool`."""

    @abstractmethod
    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """One prediction for each target, in their order."""

    @abstractmethod
    def fitted_parameters(self) -> dict[str, Any]:
        """What was learned, as JSON under the archive's key names."""

    @classmethod
    @abstractmethod
    def restore(cls, parameters: Mapping[str, Any], rules: ProtocolRules, pool: Pool) -> Self:
        """The fitted method from recorded parameters, without fitting. `pool` is what it was fitted on."""

    def explain(self, target: Target) -> dict[str, Any]:
        """Why the method predicts what it does for `target`, as JSON for a page. Empty: nothing to say."""
        return {}

    @staticmethod
    def startup_budgets(targets: Sequence[Target]) -> list[StartupBudget]:
        """The startup check of each target."""
        return [startup_budget(target.settings, target.architecture) for target in targets]


def key_in(protocol: Mapping[str, object], key: str, offender: str) -> object:
    """A protocol key that a method needs.

    Raises:
        EstimationError: it is missing.
    """
    if key not in protocol:
        raise EstimationError(offender, key, None, "the key in the protocol")
    return protocol[key]
