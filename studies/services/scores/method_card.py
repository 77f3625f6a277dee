"""What a study's ledger says about one method: its fits, what they learned, and what it got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from studies.estimation.development import PANEL, WORD, summary
from studies.estimation.methods import Method
from studies.estimation.reasons import Learned, Residual
from studies.models import PredictionSet, Study
from studies.services.plan import protocols
from studies.services.predictions.explanations import RecordedFits
from studies.services.predictions.recorded import fold_sets, panel_set
from studies.services.scores.development import Development, load_development


@dataclass(frozen=True)
class LearnedIn:
    """What a method learned in one fit; ``family`` is the held-out one, empty for the fit on everything."""

    family: str
    fitted_on: int
    numbers: Sequence[Learned]


@dataclass(frozen=True)
class Outside:
    """How a method did outside the fit, for one family and source study."""

    family: str
    source: str
    counts: dict[str, Any]


def method_card(study: Study, method: type[Method]) -> dict[str, Any]:
    """What the method's page shows of this study, ready for a template.

    A follow-up's fits are its parent's. Raises ``ServiceError`` or ``EstimationError`` where a recorded fit
    cannot be applied again.
    """
    protocols.rules(study)  # a study without them has nothing to say of a method
    developed = [item for item in load_development(study) if item.method == method.name]
    sets = _sets(study, method.name, developed)
    learned: list[LearnedIn] = []
    formula: Sequence[str] = ()
    residuals: Sequence[Residual] = ()
    fits = RecordedFits()
    for prediction_set in sets:
        fitted = fits.restored(prediction_set, method.name)
        if fitted is None:
            continue
        own = fitted.method(method.name)
        learned.append(LearnedIn(prediction_set.fold, len(fitted.pool), own.learned()))
        if prediction_set.fold == PANEL:
            formula, residuals = own.formula(), own.residuals(fitted.pool)
    return {
        "kind": WORD if developed else "",
        "used": bool(sets),
        "learned": [item for item in learned if item.numbers],
        "learned_names": [item.name for item in learned[0].numbers] if learned else [],
        "fitted_formula": formula,
        "residuals": residuals,
        "outside": [row for item in developed for row in _outside(item)],
        "misses": [miss for item in developed for miss in item.misses()],
    }


def _sets(study: Study, name: str, developed: Sequence[Development]) -> list[PredictionSet]:
    """The sets that hold the method's predictions, families first, the panel last."""
    if developed:
        return [
            item
            for _, item in sorted(developed[0].sets.items(), key=lambda pair: (pair[0] == PANEL, pair[0]))
        ]
    own = panel_set(study)
    found = [*fold_sets(study), *([own] if own else [])]
    return [item for item in found if item.predictions.filter(method=name).exists()]


def _outside(item: Development) -> list[Outside]:
    rows = []
    for family, predictions in sorted(item.elsewhere.items()):
        by_source: dict[str, list[Any]] = {}
        for prediction in predictions:
            source = item.measured[prediction.configuration_id].settings.study
            by_source.setdefault(source, []).append(prediction)
        rows += [
            Outside(family, source, summary(found, item.truths))
            for source, found in sorted(by_source.items())
        ]
    return rows
