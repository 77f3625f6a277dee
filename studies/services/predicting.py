"""Recording a study's own fits and predictions, and sealing them before anything has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from rlvram_site.ledger.chain import lock_stream, record, record_all
from studies.estimation.methods import Prediction as Forecast
from studies.models import Configuration, FittedModel, Prediction, PredictionSet, Seal, Study
from studies.services.errors import ServiceError
from studies.services.forecasts import panel_set
from studies.services.order import first_outcome
from studies.services.pools import pool_of
from studies.services.seals import seal_predictions


def check_open(study: Study) -> None:
    """Raises ``ServiceError`` unless the study can still be predicted: unsealed, without an outcome."""
    if Seal.objects.filter(study=study).exists():
        raise ServiceError(f"study {study.slug} is sealed already")
    if first_outcome(study) is not None:
        raise ServiceError(
            f"study {study.slug} cannot be sealed: an outcome of a target is recorded already, so its "
            "predictions would not be prospective"
        )


def predict_and_seal(study: Study, result: Mapping[str, Any]) -> tuple[PredictionSet, Seal]:
    """Record a refit worker's ``result`` as the study's fits and predictions, and seal the panel's.

    All or nothing. Raises ``ServiceError`` for a study that is sealed or has an outcome.
    """
    with transaction.atomic():
        # An outcome that is recorded at the same time waits for the end of this.
        lock_stream(study.stream)
        check_open(study)
        environment = result["numerical_environment"]
        pool = {row.configuration_id: row for row in pool_of(study).configurations.all()}
        targets = {row.configuration_id: row for row in study.configurations.all()}
        for family, fold in sorted(result["retrospective"]["folds"].items()):
            model = {**fold["model"], "source_cost": fold["source_cost"]}
            _record_set(study, family, model, environment, fold["predictions"], pool, pool)
        panel = _record_set(
            study, "", result["fitted_model"], environment, result["predictions"], targets, pool
        )
        assert panel_set(study) == panel
        return panel, seal_predictions(panel)


def _record_set(
    study: Study, fold: str, model: Mapping[str, Any], environment: Mapping[str, Any],
    predictions: Sequence[Mapping[str, Any]], targets: Mapping[str, Configuration],
    donors: Mapping[str, Configuration],
) -> PredictionSet:  # fmt: skip
    fitted = FittedModel(study=study, fold=fold, parameters=dict(model), environment=dict(environment))
    record(fitted)
    kind = PredictionSet.Kind.FOLD if fold else PredictionSet.Kind.PANEL
    prediction_set = PredictionSet(
        study=study, kind=kind, fold=fold, fitted_model=fitted, source_path="computed here"
    )
    record(prediction_set)
    record_all(_row(prediction_set, Forecast.from_record(item), targets, donors) for item in predictions)
    return prediction_set


def _row(
    prediction_set: PredictionSet, item: Forecast, targets: Mapping[str, Configuration],
    donors: Mapping[str, Configuration],
) -> Prediction:  # fmt: skip
    donor, budget = item.donor_configuration_id, item.startup_budget
    raw = item.peak_only_predicted_state
    return Prediction(
        study=prediction_set.study,
        prediction_set=prediction_set,
        configuration=targets[item.configuration_id],
        method=item.method,
        label=item.predicted_state.value,
        peak_mib=item.predicted_peak_mib,
        donor=donors[donor] if donor else None,
        donor_gpu_count_matches=item.donor_gpu_count_matches,
        peak_only_label=raw.value if raw else "",
        guard_changed_label=item.startup_guard_changed_state,
        guard_applicable=budget.applicable,
        guard_sum_mib=budget.budget_plus_actor_mib,
        guard_predicts_failure=budget.predicts_failure,
    )
