"""Scores of the panel and of the held-out families under the archive's key names, and recording them."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from rlvram_site.ledger.canonical import canonical, digest
from studies.estimation.panel import (
    by_method,
    evaluate_panel,
    panel_answers,
    resolved_truths,
    single_label_rule,
)
from studies.estimation.pool import PoolConfiguration
from studies.estimation.scoring import Truth, answers, case_of, score
from studies.models import Evaluation, PredictionSet, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.plan.pools import architectures, pool_configuration, pool_of
from studies.services.predictions.recorded import fold_sets, in_method_order, method_predictions, panel_set
from studies.services.scores.panel import Panel, load_panel

INTERPRETATION = (
    "Only resolved configurations are scored. An unresolved one is neither a success nor a failure."
)
RULES_VERSION = "scoring-1"


def panel_evaluation(panel: Panel) -> dict[str, Any]:
    """What the archive's ``evaluation.json`` holds, for a panel.

    Raises ``ServiceError`` if nothing is predicted yet.
    """
    if panel.prediction_set is None:
        raise ServiceError(f"study {panel.study.slug} has no predictions to evaluate")
    result = evaluate_panel(method_predictions(panel.prediction_set), panel.resolutions)
    return {"interpretation": INTERPRETATION, **result}


def always_rule(panel: Panel) -> dict[str, Any] | None:
    """The rule that always predicts the resolved subset's one label, scored; None unless it has one."""
    return single_label_rule(resolved_truths(panel.resolutions))


def fold_truths(prediction_set: PredictionSet) -> list[Truth]:
    """The recorded outcomes of a held-out family's test configurations, by id."""
    return [Truth.of_pool(item) for item in _fold_configurations(prediction_set)]


def _fold_configurations(prediction_set: PredictionSet) -> list[PoolConfiguration]:
    pool = pool_of(prediction_set.study)
    known = architectures(pool)
    rows = pool.configurations.filter(predictions__prediction_set=prediction_set).distinct()
    return [
        pool_configuration(row, known)
        for row in rows.select_related("pool_outcome").order_by("configuration_id")
    ]


def fold_scores(prediction_set: PredictionSet) -> dict[str, Any]:
    """Scores of every method on one held-out family, under the archive's key names; never pooled."""
    truths = fold_truths(prediction_set)
    groups = by_method(method_predictions(prediction_set), [truth.configuration_id for truth in truths])
    return {method: score(groups[method], truths) for method in in_method_order(groups)}


def evaluation_document(study: Study) -> dict[str, Any]:
    """``{"evaluation": …, "folds": {family: {"scores": …}}}``: the archive's numbers from the ledger.

    Beside them stand ``answers``: by method how many targets were approved, rejected and left undecided, by
    what they turned out to be. ``evaluation`` has the keys of ``evaluation.json``, each family's ``scores``
    those of ``retrospective.json``. A study that inherits its predictions has no folds.
    """
    panel = load_panel(study)
    evaluation = panel_evaluation(panel)
    assert panel.prediction_set is not None
    return {
        "evaluation": evaluation,
        "answers": panel_answers(method_predictions(panel.prediction_set), panel.resolutions),
        "folds": {
            item.fold: {"scores": fold_scores(item), "answers": fold_answers(item)}
            for item in fold_sets(study)
        },
    }


def fold_answers(prediction_set: PredictionSet) -> dict[str, Any]:
    """Each method's approved, rejected and undecided targets of one held-out family, by observed label."""
    truths = {truth.configuration_id: truth for truth in fold_truths(prediction_set)}
    groups = by_method(method_predictions(prediction_set), list(truths))
    return {
        method: answers(case_of(item, truths[item.configuration_id]) for item in groups[method])
        for method in in_method_order(groups)
    }


def record_evaluation(prediction_set: PredictionSet) -> tuple[Evaluation, bool]:
    """Evaluate a set and record the result with the hashes of its inputs.

    The same inputs find the evaluation that is already there: ``(evaluation, False)``.
    """
    with transaction.atomic():
        inputs, result = _evaluate(prediction_set)
        key = digest(inputs)
        found = prediction_set.evaluations.filter(inputs_sha256=key).first()
        if found is not None:
            return found, False
        evaluation = Evaluation(
            study=prediction_set.study,
            prediction_set=prediction_set,
            inputs_sha256=key,
            inputs=inputs,
            result=result,
        )
        evaluation.save()
        return evaluation, True


def record_evaluations(study: Study) -> list[Evaluation]:
    """Record the evaluation of every held-out family and, if anything is predicted, of the panel."""
    return [record_evaluation(item)[0] for item in _evaluated_sets(study)]


def evaluation_inputs(study: Study) -> list[dict[str, str]]:
    """Hashes by name of everything that ``record_evaluations`` computes from, set by set."""
    return [_evaluate(item)[0] for item in _evaluated_sets(study)]


def stale_evaluations(study: Study) -> list[str]:
    """A sentence for each recorded evaluation that no longer comes out of the inputs that it had."""
    found = []
    for item in _evaluated_sets(study):
        inputs, result = _evaluate(item)
        recorded = item.evaluations.filter(inputs_sha256=digest(inputs)).first()
        if recorded is not None and canonical(recorded.result) != canonical(result):
            found.append(f"the evaluation of {item.name} has another result than its inputs give")
    return found


def _evaluated_sets(study: Study) -> list[PredictionSet]:
    panel = panel_set(study)
    return [*fold_sets(study), *([panel] if panel is not None else [])]


def _evaluate(prediction_set: PredictionSet) -> tuple[dict[str, str], dict[str, Any]]:
    """Hashes by name of everything the result depends on, and the result."""
    study = prediction_set.study
    predictions = [item.to_record() for item in method_predictions(prediction_set)]
    inputs = {
        "effective_protocol": protocols.effective_sha256(study),
        "predictions": digest(predictions),
        "scoring_rules": digest(RULES_VERSION),
    }
    if prediction_set.kind == PredictionSet.Kind.FOLD:
        truths = [
            [truth.configuration_id, truth.label.value, truth.completed_peak_mib]
            for truth in fold_truths(prediction_set)
        ]
        return {**inputs, "outcomes": digest(truths)}, {"scores": fold_scores(prediction_set)}
    panel = load_panel(study)
    outcomes = [[slot.slot.experiment_id, slot.outcome.kind, slot.outcome.peak_mib] for slot in panel.slots]
    result = {**panel_evaluation(panel), "always_rule": always_rule(panel)}
    return {**inputs, "outcomes": digest(outcomes)}, result
