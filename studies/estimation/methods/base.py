"""What every method has in common: its contract and the prediction it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_boolean, require_number, require_text
from studies.estimation.interval import Interval
from studies.estimation.labels import Answer, Label, exceeds_margin, parse_answer, parse_label
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.reasons import About, Learned, Reasons, Residual
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.volumes import StartupBudget, startup_budget


@dataclass(frozen=True)
class Prediction:
    """One method's prediction for one configuration.

    Attributes:
        configuration_id: the target.
        method: name of the method.
        predicted_state: predicted label, or undecided; `within_margin` approves.
        startup_budget: startup check of the target, the same for every method.
        predicted_peak_mib: predicted completed peak, MiB, where the method has one.
        donor_configuration_id, donor_gpu_count_matches: donor copy only.
        peak_only_predicted_state, startup_guard_changed_state: component regression only.
        interval: where the peak lies, for a method that says so.
        remark: what a reader must know of this prediction, a sentence; None where there is nothing.
    """

    configuration_id: str
    method: str
    predicted_state: Answer
    startup_budget: StartupBudget
    predicted_peak_mib: float | None = None
    donor_configuration_id: str | None = None
    donor_gpu_count_matches: bool | None = None
    peak_only_predicted_state: Label | None = None
    startup_guard_changed_state: bool | None = None
    interval: Interval | None = None
    remark: str | None = None

    @property
    def approves(self) -> bool:
        """Whether the configuration is approved."""
        return self.predicted_state.approves

    @property
    def undecided(self) -> bool:
        """Whether the method couldn't call it: neither an approval nor a rejection."""
        return not isinstance(self.predicted_state, Label)

    def approves_at(self, margin_mib: float) -> bool:
        """Whether the target would be approved if the margin were another one.

        The upper end of an interval decides; without one the predicted peak does, unless the method predicts
        a memory failure; a method without peaks approves what it approves.
        """
        if self.interval is not None:
            return self.interval.high is not None and not exceeds_margin(self.interval.high, margin_mib)
        if self.predicted_peak_mib is not None:
            failing = self.predicted_state is Label.MEMORY_FAILURE
            return not failing and not exceeds_margin(self.predicted_peak_mib, margin_mib)
        return self.approves

    def to_record(self) -> dict[str, object]:
        """The prediction under the archive's key names.

        Interval and remark stand in it only where there is one, so that records made before they existed
        keep their form.
        """
        peak_only = self.peak_only_predicted_state
        record: dict[str, object] = {
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
        if self.interval is not None:
            record["predicted_peak_lower_mib"] = self.interval.low
            record["predicted_peak_upper_mib"] = self.interval.high
        if self.remark is not None:
            record["remark"] = self.remark
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> Prediction:
        """Read a prediction back.

        Raises:
            EstimationError: a missing field, an unknown label, an interval that is none, or a number that is
                not finite.
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
            predicted_state=parse_answer(record["predicted_state"], offender),
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
            interval=_interval(record, offender),
            remark=None
            if record.get("remark") is None
            else require_text(record["remark"], offender, "remark"),
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


def _interval(record: Mapping[str, object], offender: str) -> Interval | None:
    ends = []
    for field in _INTERVAL_FIELDS:
        value = record.get(field)
        ends.append(None if value is None else require_number(value, offender, field))
    return None if not any(field in record for field in _INTERVAL_FIELDS) else Interval(*ends)


_INTERVAL_FIELDS = ("predicted_peak_lower_mib", "predicted_peak_upper_mib")


@dataclass(frozen=True)
class Matched:
    """A target of the transfer suite with the one measured configuration that its query permits to copy."""

    target: Target
    source: PoolConfiguration


class Method(ABC):
    """A method of a study, in the style of scikit-learn.

    The constructor stores parameters, `fit` learns attributes whose names end in `_`, `predict` uses them and
    raises scikit-learn's `NotFittedError` before there are any (`require_fitted`).

    Class attributes:
        name: the method's name in records.
        words: its name in sentences.
        order: place in the tables, ascending.
        colour: of its curves and dots, as a CSS colour; none stands without its name.
        protocol_key: the key by which a protocol calls for the method.
        required: whether a protocol that fits must have that key.
        learns: whether `fit` estimates parameters, so that it needs every label among what it fits.
        any_limits: whether margin and capacity are only held against predicted peaks, so that the method
            answers for other limits than those under which its pool was labelled.
        development_value: what a protocol would hold under `protocol_key` for the method as it was developed.
            None for a method that has nothing to be developed on: it was there before the labels were.
    """

    name: ClassVar[str]
    words: ClassVar[str] = ""
    order: ClassVar[int]
    colour: ClassVar[str] = "#767676"
    protocol_key: ClassVar[str]
    required: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    any_limits: ClassVar[bool] = False
    development_value: ClassVar[object] = None

    @classmethod
    def about(cls) -> About:
        """What the method's own page says about it."""
        return About((cls.__doc__ or "").strip().split("\n\n", maxsplit=1)[0].replace("\n", " "))

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

    @classmethod
    def answer_task(cls, rules: ProtocolRules, donors: Pool, queries: Sequence[Matched]) -> list[Prediction]:
        """Predict the targets of one task of the transfer suite, from that task's donors alone."""
        return cls.from_rules(rules).fit(donors).predict([query.target for query in queries])

    def explain(self, target: Target) -> Reasons:
        """Why the method predicts what it does for `target`."""
        return Reasons("no reasons given", ("This method says nothing about how it came to its answer.",))

    def learned(self) -> tuple[Learned, ...]:
        """The few numbers that the method's page shows of a fit; empty where there are none, or too many."""
        return ()

    def formula(self) -> tuple[str, ...]:
        """The formula with this fit's numbers in it, line by line; empty where there is none to show."""
        return ()

    def residuals(self, pool: Pool) -> tuple[Residual, ...]:
        """What the learned constants were learned from, as the page's dots; empty where there are none."""
        return ()

    def require_fitted(self, *attributes: str) -> None:
        """Refuse to be used before `fit`.

        Raises:
            sklearn.exceptions.NotFittedError: one of these learned attributes is not there.
        """
        if all(hasattr(self, attribute) for attribute in attributes):
            return
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"{self.name} is not fitted: call fit on a pool first, or restore a recorded fit"
        )

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
