"""Component regression: a nonnegative weighted sum of volumes, with a startup guard in front of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from studies.estimation.errors import EstimationError
from studies.estimation.interval import label_of_peak
from studies.estimation.labels import Label
from studies.estimation.methods.base import Method, Prediction, key_in
from studies.estimation.numerics import one_thread, read_vector, require_finite
from studies.estimation.pool import Pool, PoolConfiguration, Target, feature_matrix
from studies.estimation.reasons import (
    About,
    Column,
    Learned,
    Part,
    Reasons,
    Residual,
    Stack,
    Table,
)
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.volumes import MIB_PER_GIB
from studies.estimation.wording import recognise

MAX_ITERATIONS = 10_000
SMALLEST_DIVISOR = 1.0


@dataclass(frozen=True)
class Term:
    """One addend of a fitted peak. The intercept has neither volume nor divisor.

    Attributes:
        name: feature, or `intercept`.
        volume: value of the feature, GiB (1 or 0 for an indicator).
        divisor: what the volume was divided by in fitting.
        coefficient_gib: fitted weight, GiB.
        contribution_gib, contribution_mib: weight × volume / divisor.
    """

    name: str
    volume: float | None
    divisor: float | None
    coefficient_gib: float
    contribution_gib: float
    contribution_mib: float


class ComponentRegression(Method):
    """Nonnegative least squares with an intercept, float64, on completed peaks in GiB.

    Only configurations whose repeats all completed are fitted. Each feature is divided by the larger of
    1 and its maximum over those rows. The fitted peak gives a class by capacity and margin; a positive
    startup check replaces that class by a memory failure.

    Args:
        features: feature names in the protocol's order.
        capacity_mib: device capacity, MiB.
        margin_mib: memory margin, MiB.

    Attributes after `fit`:
        coefficients_: intercept and one weight a feature, GiB.
        divisors_: one divisor a feature.
        residual_norm_: Euclidean norm of the training residuals, GiB.
        training_ids_: configurations fitted.
    """

    name: ClassVar[str] = "component_regression"
    words: ClassVar[str] = "component regression"
    order: ClassVar[int] = 20
    colour: ClassVar[str] = "#E69F00"
    protocol_key: ClassVar[str] = "component_regression"
    required: ClassVar[bool] = True
    any_limits: ClassVar[bool] = True

    coefficients_: NDArray[np.float64]
    divisors_: NDArray[np.float64]
    residual_norm_: float
    training_ids_: list[str]

    def __init__(self, features: Sequence[str], capacity_mib: float, margin_mib: float) -> None:
        self.features = tuple(features)
        self.capacity_mib = capacity_mib
        self.margin_mib = margin_mib

    @classmethod
    def about(cls) -> About:
        """What the page says."""
        return About(
            claim=(
                "A peak is a weighted sum of component volumes. The weights are learned from completed peaks "
                "and can't be negative. A startup check in front of it names settings that can't even start."
            ),
            formula=(
                "peak = intercept + Σ coefficient × volume ÷ divisor, GiB",
                "above the capacity: memory failure; above the margin: above margin; else within margin",
                "resident actor shards + generation budget above the capacity: memory failure in any case",
            ),
            limits=(
                "Coefficients describe a fit, not a cause.",
                "It learns from completed peaks only, so nothing that failed has taught it.",
            ),
            residual_title="measured less fitted peak, MiB",
        )

    @classmethod
    def read_rule(cls, protocol: Mapping[str, object], offender: str) -> MethodParameters:
        """Check that regression, label mapping and startup check are the implemented ones."""
        return {
            key: recognise(key, key_in(protocol, key, offender), offender).word
            for key in ("component_regression", "label_mapping", "startup_check")
        }

    @classmethod
    def from_rules(cls, rules: ProtocolRules) -> Self:
        """Features and limits as the protocol has them."""
        return cls(rules.require_fitting().features, rules.device_capacity_mib, rules.memory_margin_limit_mib)

    def fit(self, pool: Pool) -> Self:
        """Fit the configurations of `pool` that completed.

        Raises:
            EstimationError: none completed, the solver gave up, or a result is not finite.
        """
        from scipy.optimize import nnls

        completed = _completed(pool)
        if not completed:
            raise EstimationError(
                self.name,
                "completed configurations",
                0,
                "at least one configuration with three completed repeats",
            )
        peaks = np.array([item.completed_peak_mib for item in completed], dtype=np.float64) / MIB_PER_GIB
        volumes = feature_matrix(completed, self.features)
        self.training_ids_ = [item.configuration_id for item in completed]
        self.divisors_ = np.maximum(volumes.max(axis=0), SMALLEST_DIVISOR)
        try:
            with one_thread():
                coefficients, residual = nnls(self._design(volumes), peaks, maxiter=MAX_ITERATIONS)
        except RuntimeError as error:
            raise EstimationError(
                self.name, "solver", str(error), f"a solution in {MAX_ITERATIONS} iterations"
            ) from error
        self.coefficients_ = require_finite(np.asarray(coefficients), self.name, "component_coefficients_gib")
        self.residual_norm_ = float(
            require_finite(np.asarray(residual), self.name, "component_training_residual_norm_gib")
        )
        return self

    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """Fitted peak, its class, and the class after the startup guard.

        Raises:
            EstimationError: a peak that is not finite.
        """
        self.require_fitted("coefficients_", "divisors_")
        peaks = self._design(feature_matrix(targets, self.features)) @ self.coefficients_ * MIB_PER_GIB
        require_finite(peaks, self.name, "predicted_peak_mib")
        predictions = []
        for target, budget, peak in zip(targets, self.startup_budgets(targets), peaks.tolist(), strict=True):
            raw = self.classify(peak)
            state = Label.MEMORY_FAILURE if budget.predicts_failure else raw
            predictions.append(
                Prediction(
                    configuration_id=target.configuration_id,
                    method=self.name,
                    predicted_state=state,
                    startup_budget=budget,
                    predicted_peak_mib=peak,
                    peak_only_predicted_state=raw,
                    startup_guard_changed_state=state is not raw,
                )
            )
        return predictions

    def classify(self, peak_mib: float) -> Label:
        """Class of a fitted peak alone: above capacity, above margin, or within it."""
        return label_of_peak(peak_mib, self.margin_mib, self.capacity_mib)

    def fitted_parameters(self) -> dict[str, Any]:
        """Coefficients with the intercept first, divisors, residual norm and fitted ids."""
        self.require_fitted("coefficients_", "divisors_")
        return {
            "component_coefficients_gib": self.coefficients_.tolist(),
            "component_divisors": self.divisors_.tolist(),
            "component_training_residual_norm_gib": self.residual_norm_,
            "regression_training_configuration_ids": list(self.training_ids_),
        }

    @classmethod
    def restore(cls, parameters: Mapping[str, Any], rules: ProtocolRules, pool: Pool) -> Self:
        """Read coefficients and divisors back.

        Raises:
            EstimationError: a missing or malformed parameter, or other fitted ids than the pool's
                completed configurations.
        """
        method = cls.from_rules(rules)
        count = len(method.features)
        method.coefficients_ = read_vector(
            parameters.get("component_coefficients_gib"), count + 1, cls.name, "component_coefficients_gib"
        )
        method.divisors_ = read_vector(
            parameters.get("component_divisors"), count, cls.name, "component_divisors"
        )
        method.residual_norm_ = float(
            read_vector(
                [parameters.get("component_training_residual_norm_gib")],
                1,
                cls.name,
                "component_training_residual_norm_gib",
            )[0]
        )
        if (method.coefficients_ < 0).any():
            raise EstimationError(
                cls.name, "component_coefficients_gib", method.coefficients_.tolist(), "no negative weight"
            )
        if (method.divisors_ < SMALLEST_DIVISOR).any():
            raise EstimationError(
                cls.name, "component_divisors", method.divisors_.tolist(), f"at least {SMALLEST_DIVISOR} each"
            )
        method.training_ids_ = [item.configuration_id for item in _completed(pool)]
        if parameters.get("regression_training_configuration_ids") != method.training_ids_:
            raise EstimationError(
                cls.name,
                "regression_training_configuration_ids",
                parameters.get("regression_training_configuration_ids"),
                f"the {len(method.training_ids_)} completed configurations of the fitting pool",
            )
        return method

    def terms(self, target: Target) -> list[Term]:
        """What each addend contributes to the fitted peak of `target`, the intercept first."""
        self.require_fitted("coefficients_", "divisors_")
        volumes = feature_matrix([target], self.features)[0].tolist()
        intercept, *weights = self.coefficients_.tolist()
        terms = [Term("intercept", None, None, intercept, intercept, intercept * MIB_PER_GIB)]
        for name, volume, divisor, weight in zip(
            self.features, volumes, self.divisors_.tolist(), weights, strict=True
        ):
            share = weight * volume / divisor
            terms.append(Term(name, volume, divisor, weight, share, share * MIB_PER_GIB))
        return terms

    def explain(self, target: Target) -> Reasons:
        """All addends; their sum is the fitted peak. Then what the startup check made of it."""
        terms = self.terms(target)
        peak_gib = sum(term.contribution_gib for term in terms)
        peak_mib = sum(term.contribution_mib for term in terms)
        budget, raw = self.startup_budgets([target])[0], self.classify(peak_mib)
        said = f"The peak alone says {raw.replace('_', ' ')}."
        if budget.predicts_failure and raw is not Label.MEMORY_FAILURE:
            said += " The startup guard changed that to memory failure."
        elif budget.applicable:
            said += f" The startup guard ({budget.budget_plus_actor_mib:,.0f} MiB) left it as it is."
        else:
            said += " The startup guard does not apply."
        columns = (
            Column("Term"),
            Column("Volume", "GiB", 4),
            Column("÷ divisor", digits=4),
            Column("× coefficient", digits=4),
            Column("= contribution", "GiB", 4),
        )
        table = Table(
            "Contribution = coefficient × volume ÷ divisor. Coefficients are learned from completed peaks "
            "and can't be negative; they describe a fit, not a cause.",
            columns,
            tuple(
                (term.name, term.volume, term.divisor, term.coefficient_gib, term.contribution_gib)
                for term in terms
            ),
            (f"Fitted peak, {peak_mib:,.0f} MiB", None, None, None, peak_gib),
        )
        parts = tuple(Part(term.name, term.contribution_gib) for term in terms if term.contribution_gib)
        return Reasons("term by term", (said,), (table,), stacks=(Stack("regression", parts),))

    def learned(self) -> tuple[Learned, ...]:
        """Intercept and weights."""
        self.require_fitted("coefficients_", "divisors_")
        names = ("intercept", *self.features)
        return tuple(
            Learned(name, "GiB", weight)
            for name, weight in zip(names, self.coefficients_.tolist(), strict=True)
        )

    def residuals(self, pool: Pool) -> tuple[Residual, ...]:
        """Measured less fitted peak of what was fitted."""
        completed = _completed(pool)
        fitted = self.predict([item.as_target() for item in completed])
        return tuple(
            Residual(item.configuration_id, item.family, "completed peaks", item.completed_peak_mib - peak)
            for item, prediction in zip(completed, fitted, strict=True)
            if item.completed_peak_mib is not None and (peak := prediction.predicted_peak_mib) is not None
        )

    def _design(self, volumes: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = volumes / self.divisors_
        return np.column_stack([np.ones(len(scaled)), scaled])


def _completed(pool: Pool) -> list[PoolConfiguration]:
    return [item for item in pool if item.completed_peak_mib is not None]
