"""Fitting a study again: what goes in, and how the result compares with what is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlvram_site.ledger.canonical import canonical
from studies.archive.environment import recorded_versions
from studies.estimation.compare import Comparison
from studies.estimation.fit_comparison import CLASSIFIER_KEYS, FINAL, compare_classifiers, compare_facts
from studies.estimation.payload import to_payload
from studies.models import FittedModel, PredictionSet, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.plan.pools import fitting_pool, targets
from studies.services.predictions.recorded import fold_sets, method_predictions, panel_set

NOT_LEARNED = ("scope", "source_cost")
"""What a recorded model carries beside what was fitted."""
SHOWN = 20


@dataclass(frozen=True)
class Verdict:
    """How a fresh fit compares with the recorded one.

    Attributes:
        predictions: labels, peaks, donors and guards of the panel and of every held-out family.
        parameters: the learned parameters without the classifier's.
        classifier: the classifier's parameters, which move with the library's version.
        largest_weight_deviation: of its coefficients and intercepts, iterations left out.
    """

    predictions: Comparison
    parameters: Comparison
    classifier: Comparison
    largest_weight_deviation: float

    def to_document(self) -> dict[str, Any]:
        """The three comparisons as JSON."""
        return {
            name: {
                "agrees": item.passed,
                "compared": item.compared,
                "largest_deviation": item.largest_deviation,
                "largest_deviation_path": item.largest_deviation_path,
                "differences": [str(difference) for difference in item.mismatches[:SHOWN]],
            }
            for name, item in (
                ("predictions", self.predictions),
                ("parameters", self.parameters),
                ("classifier", self.classifier),
            )
        }


def refit_payload(study: Study) -> dict[str, Any]:
    """Pool, rules and targets of a study, as the refit worker takes them.

    The rules are those that held at the seal: what was amended after it had no part in the sealed fit.

    Raises ``ServiceError`` or ``EstimationError`` for a study that fits nothing itself.
    """
    rules = protocols.sealed_rules(study)
    if rules.fitting is None:
        parent = study.parent.slug if study.parent else "its parent"
        raise ServiceError(
            f"study {study.slug} fits nothing: its predictions are inherited; refit {parent} instead"
        )
    pool = fitting_pool(study, rules)
    payload = to_payload(pool, rules, targets(study, rules.target_configuration_ids))
    # Through JSON, as a worker in another process gets it.
    return json.loads(json.dumps(payload))


def library_versions(study: Study) -> dict[str, str]:
    """The library versions of the recorded final fit, by the names of the package index.

    Raises ``ServiceError`` if no fit is recorded, ``ArchiveError`` if it does not say its versions.
    """
    fits = FittedModel.objects.filter(study=study, fold="")
    fitted = fits.exclude(prediction_sets__kind=PredictionSet.Kind.DEVELOPMENT).order_by("pk").first()
    if fitted is None:
        raise ServiceError(f"study {study.slug} has no recorded fit, so no recorded environment either")
    return recorded_versions(fitted.environment, f"study {study.slug}")


def recorded_fit(study: Study) -> dict[str, Any] | None:
    """Models and predictions as recorded, in the form of ``fit_of``; None when nothing is predicted yet."""
    panel = panel_set(study)
    if panel is None or panel.fitted_model is None:
        return None
    return {
        "predictions": {
            FINAL: _predictions(panel),
            **{row.fold: _predictions(row) for row in fold_sets(study)},
        },
        "models": {
            FINAL: panel.fitted_model.parameters,
            **{row.fold: row.fitted_model.parameters for row in fold_sets(study) if row.fitted_model},
        },
    }


def _predictions(prediction_set: PredictionSet) -> list[dict[str, Any]]:
    return [item.to_record() for item in method_predictions(prediction_set)]


def compare_fits(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Verdict:
    """Compare a fresh fit with the recorded one; numbers within the study's tolerance, all else exactly."""
    expected, found = canonical(expected), canonical(found)
    classifiers = compare_classifiers(expected["models"], found["models"])
    return Verdict(
        compare_facts(expected["predictions"], found["predictions"], NOT_LEARNED),
        compare_facts(expected["models"], found["models"], (*NOT_LEARNED, *CLASSIFIER_KEYS)),
        classifiers.parameters,
        classifiers.largest_weight_deviation,
    )
