"""A fit made again against one that is recorded: the classifier's parameters apart from everything else.

They move with the library's version while every prediction stays, so whoever compares says what they decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from studies.estimation.compare import Comparison, compare

CLASSIFIER_KEYS = ("classifier_coefficients", "classifier_intercepts", "classifier_iterations")
PROSE_KEYS = ("interpretation", "assumption", "reason")
FINAL = "final"


def fit_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Predictions and models of a refit worker's result, by held-out family; the final fit is ``final``."""
    folds = result["retrospective"]["folds"]
    return {
        "predictions": {
            FINAL: result["predictions"],
            **{family: fold["predictions"] for family, fold in folds.items()},
        },
        "models": {
            FINAL: result["fitted_model"],
            **{family: fold["model"] for family, fold in folds.items()},
        },
    }


def compare_facts(expected: Any, found: Any, ignore: Collection[str] = ()) -> Comparison:
    """Compare two trees within the study's tolerance, prose left out."""
    return compare(expected, found, ignore=(*PROSE_KEYS, *ignore))


@dataclass(frozen=True)
class ClassifierComparison:
    """The classifier's parameters; ``largest_weight_deviation`` leaves its iterations out."""

    parameters: Comparison
    largest_weight_deviation: float


def compare_classifiers(expected: Mapping[str, Any], found: Mapping[str, Any]) -> ClassifierComparison:
    """Compare the classifiers of two fits' models, each by held-out family."""
    pair = _classifiers(expected), _classifiers(found)
    weights = compare(*pair, ignore=("classifier_iterations",))
    return ClassifierComparison(compare(*pair), weights.largest_deviation)


def _classifiers(models: Mapping[str, Any]) -> dict[str, Any]:
    return {family: {key: model.get(key) for key in CLASSIFIER_KEYS} for family, model in models.items()}
