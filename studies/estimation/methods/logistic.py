"""Logistic classification of all three labels. Its scores rank classes; they are no failure probabilities."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_number, require_whole
from studies.estimation.labels import Label
from studies.estimation.methods.base import Method, Prediction, key_in
from studies.estimation.numerics import one_thread, read_vector, require_finite
from studies.estimation.pool import Pool, Target, feature_matrix
from studies.estimation.reasons import About, Reasons
from studies.estimation.rules import MethodParameters, ProtocolRules
from studies.estimation.wording import recognise

CLASSES = tuple(sorted(Label))
"""Row order of the coefficients. The first class wins an exact tie of scores."""

_IMPLEMENTED = {
    "implementation": "sklearn.linear_model.LogisticRegression",
    "multi_class": "multinomial",
    "penalty": "l2",
    "solver": "lbfgs",
    "class_weight": "balanced",
}
_TEXTS = ("scaling", "convergence", "decision")
_NUMBERS = ("C", "max_iter", "random_state")


class LogisticClassification(Method):
    """Multinomial logistic regression with an L2 penalty, balanced classes and standardised features.

    Args:
        features: feature names in the protocol's order.
        C: inverse strength of the penalty.
        max_iter: most iterations of the solver; reaching it is a failure.
        random_state: seed handed to scikit-learn.

    Attributes after `fit`:
        coefficients_: shape (3, features), rows in the order of `CLASSES`.
        intercepts_: shape (3,).
        mean_, scale_: of each feature over the fitting configurations, GiB.
        iterations_: as scikit-learn reports them, a list of one number.
    """

    name: ClassVar[str] = "logistic"
    words: ClassVar[str] = "logistic classification"
    order: ClassVar[int] = 30
    colour: ClassVar[str] = "#56B4E9"
    protocol_key: ClassVar[str] = "classifier"
    required: ClassVar[bool] = True

    coefficients_: NDArray[np.float64]
    intercepts_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    scale_: NDArray[np.float64]
    iterations_: list[int]

    def __init__(self, features: Sequence[str], C: float, max_iter: int, random_state: int) -> None:
        self.features = tuple(features)
        self.C = C
        self.max_iter = max_iter
        self.random_state = random_state

    @classmethod
    def about(cls) -> About:
        """What the page says."""
        return About(
            claim=(
                "The label follows from the standardised volumes by multinomial logistic regression, "
                "balanced over the three labels."
            ),
            formula=(
                "score of a label = intercept + Σ coefficient × (volume − mean) ÷ deviation",
                "answer: the label with the largest score",
            ),
            limits=(
                "Its scores rank labels; they are no probabilities of failure, so none is shown.",
                "It predicts no peak.",
            ),
        )

    @classmethod
    def read_rule(cls, protocol: Mapping[str, object], offender: str) -> MethodParameters:
        """Check each key of the protocol's classifier and keep its three numbers.

        Raises:
            EstimationError: a key that is missing, unknown, or asks for something else than implemented.
        """
        rule = key_in(protocol, cls.protocol_key, offender)
        if not isinstance(rule, Mapping):
            raise EstimationError(
                offender, cls.protocol_key, rule, "an object with the classifier's parameters"
            )
        known = (*_IMPLEMENTED, *_TEXTS, *_NUMBERS)
        for key in rule:
            if key not in known:
                raise EstimationError(offender, f"classifier.{key}", rule[key], "one of " + ", ".join(known))
        for key in known:
            if key not in rule:
                raise EstimationError(offender, f"classifier.{key}", None, "the key in the protocol")
        for key, implemented in _IMPLEMENTED.items():
            if rule[key] != implemented:
                raise EstimationError(
                    offender, f"classifier.{key}", rule[key], f"{implemented}, as implemented"
                )
        for key in _TEXTS:
            recognise(f"classifier.{key}", rule[key], offender)
        strength = require_number(rule["C"], offender, "classifier.C")
        if strength <= 0:
            raise EstimationError(offender, "classifier.C", strength, "a number above zero")
        return {
            "C": strength,
            "max_iter": require_whole(rule["max_iter"], offender, "classifier.max_iter", 1),
            "random_state": require_whole(rule["random_state"], offender, "classifier.random_state", 0),
        }

    @classmethod
    def from_rules(cls, rules: ProtocolRules) -> Self:
        """Features and numbers as the protocol has them."""
        fitting = rules.require_fitting()
        return cls(fitting.features, **fitting.methods[cls.name])  # type: ignore[arg-type]

    def fit(self, pool: Pool) -> Self:
        """Fit every configuration of `pool`.

        Raises:
            EstimationError: a label that the pool lacks, a convergence warning, or a parameter that is not
                finite.
        """
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.preprocessing import StandardScaler

        labels = np.array([item.label.value for item in pool])
        for label in CLASSES:
            if label.value not in labels:
                raise EstimationError(
                    self.name,
                    "fitting pool",
                    label.value,
                    "each of the three labels at least once; this one is absent",
                )
        volumes = feature_matrix(pool.configurations, self.features)
        classifier = self._classifier()
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            scaler = StandardScaler().fit(volumes)
            try:
                classifier.fit(scaler.transform(volumes), labels)
            except ConvergenceWarning as warning:
                raise EstimationError(
                    self.name, "convergence", str(warning), f"a solution in {self.max_iter} iterations"
                ) from warning
        self.coefficients_ = require_finite(classifier.coef_, self.name, "classifier_coefficients")
        self.intercepts_ = require_finite(classifier.intercept_, self.name, "classifier_intercepts")
        self.mean_ = require_finite(scaler.mean_, self.name, "scaler_mean")
        self.scale_ = require_finite(scaler.scale_, self.name, "scaler_scale")
        self.iterations_ = [int(count) for count in classifier.n_iter_]
        return self

    def _classifier(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        wanted = {
            "C": self.C,
            "class_weight": _IMPLEMENTED["class_weight"],
            "max_iter": self.max_iter,
            "multi_class": _IMPLEMENTED["multi_class"],
            "penalty": _IMPLEMENTED["penalty"],
            "random_state": self.random_state,
            "solver": _IMPLEMENTED["solver"],
        }
        # Newer scikit-learn has dropped the arguments whose only remaining meaning is the one wanted here:
        # three classes with lbfgs are multinomial, and l1_ratio 0 is the L2 penalty.
        known = inspect.signature(LogisticRegression).parameters
        return LogisticRegression(
            **{
                name: value
                for name, value in wanted.items()
                if name in known and known[name].default != "deprecated"
            }
        )

    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """The class with the largest score for each target; no peak.

        Raises:
            EstimationError: a score that is not finite.
        """
        self.require_fitted("coefficients_", "intercepts_", "mean_", "scale_")
        volumes = feature_matrix(targets, self.features)
        scores = (volumes - self.mean_) / self.scale_ @ self.coefficients_.T + self.intercepts_
        require_finite(scores, self.name, "scores")
        return [
            Prediction(
                configuration_id=target.configuration_id,
                method=self.name,
                predicted_state=CLASSES[best],
                startup_budget=budget,
            )
            for target, budget, best in zip(
                targets, self.startup_budgets(targets), scores.argmax(axis=1).tolist(), strict=True
            )
        ]

    def fitted_parameters(self) -> dict[str, Any]:
        """Classes, coefficients, intercepts, iterations and the scaler."""
        self.require_fitted("coefficients_", "intercepts_", "mean_", "scale_", "iterations_")
        return {
            "classifier_classes": [label.value for label in CLASSES],
            "classifier_coefficients": self.coefficients_.tolist(),
            "classifier_intercepts": self.intercepts_.tolist(),
            "classifier_iterations": list(self.iterations_),
            "scaler_mean": self.mean_.tolist(),
            "scaler_scale": self.scale_.tolist(),
        }

    @classmethod
    def restore(cls, parameters: Mapping[str, Any], rules: ProtocolRules, pool: Pool) -> Self:
        """Read coefficients and scaler back.

        Raises:
            EstimationError: a missing or malformed parameter, or another order of classes.
        """
        method = cls.from_rules(rules)
        count = len(method.features)
        if parameters.get("classifier_classes") != [label.value for label in CLASSES]:
            raise EstimationError(
                cls.name, "classifier_classes", parameters.get("classifier_classes"), ", ".join(CLASSES)
            )
        rows = parameters.get("classifier_coefficients")
        if not isinstance(rows, Sequence) or len(rows) != len(CLASSES):
            raise EstimationError(cls.name, "classifier_coefficients", rows, f"{len(CLASSES)} rows")
        method.coefficients_ = np.array(
            [read_vector(row, count, cls.name, "classifier_coefficients") for row in rows]
        )
        method.intercepts_ = read_vector(
            parameters.get("classifier_intercepts"), len(CLASSES), cls.name, "classifier_intercepts"
        )
        method.mean_ = read_vector(parameters.get("scaler_mean"), count, cls.name, "scaler_mean")
        method.scale_ = read_vector(parameters.get("scaler_scale"), count, cls.name, "scaler_scale")
        if (method.scale_ <= 0).any():
            raise EstimationError(cls.name, "scaler_scale", method.scale_.tolist(), "numbers above zero")
        iterations = parameters.get("classifier_iterations")
        if not isinstance(iterations, list):
            raise EstimationError(cls.name, "classifier_iterations", iterations, "a list of whole numbers")
        method.iterations_ = [
            require_whole(item, cls.name, "classifier_iterations", 0) for item in iterations
        ]
        return method

    def explain(self, target: Target) -> Reasons:
        """The label; the scores behind it would be read as probabilities."""
        (prediction,) = self.predict([target])
        label = prediction.predicted_state.replace("_", " ")
        return Reasons(
            "label only",
            (
                f"It predicts a label only: {label}. Its scores rank the three labels and are no "
                "probabilities of failure, so none is shown.",
            ),
        )
