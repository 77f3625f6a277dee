"""Methods in development: recorded beside a study's own predictions, never in a sealed set."""

from __future__ import annotations

from django.db import transaction

from rlvram_site.ledger.canonical import canonical, digest
from rlvram_site.ledger.chain import lock_stream
from studies.estimation.development import (
    PANEL,
    Developed,
    develop,
    is_development,
    outside_the_fit,
)
from studies.estimation.methods import Method, method_class, method_classes
from studies.estimation.numerics import numerical_environment
from studies.estimation.rules import ProtocolKind, ProtocolRules
from studies.models import PredictionSet, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.plan.pools import fitting_pool, measured_pool, pool_of, targets
from studies.services.predictions.recorded import development_sets, method_predictions, panel_set
from studies.services.predictions.seals import record_set


def methods_in_development(rules: ProtocolRules) -> list[type[Method]]:
    """The registry's methods that a study's protocol does not name and that can run on it as development."""
    if rules.kind is not ProtocolKind.FITS:
        return []
    return [method for method in method_classes() if is_development(method, rules)]


def record_development(study: Study, name: str) -> list[PredictionSet]:
    """Fit the method called ``name`` for every held-out family and for the panel, and record what is new.

    What is recorded already with the same result is found again. Returns the method's newest sets.
    Raises ``ServiceError`` or ``EstimationError``: the study fits nothing itself, or its protocol names the
    method.
    """
    rules = _fitting_rules(study)
    method = method_class(name)
    fitted_on = fitting_pool(study, rules)
    outside = outside_the_fit(measured_pool(pool_of(study)), fitted_on, rules)
    found = list(develop(fitted_on, rules, method, targets(study, rules.target_configuration_ids), outside))
    environment = numerical_environment()
    with transaction.atomic():
        lock_stream(study.stream)
        pool = {row.configuration_id: row for row in pool_of(study).configurations.all()}
        panel = {row.configuration_id: row for row in study.configurations.all()}
        recorded = {item.fold: item for item in development_sets(study) if item.method == name}
        for item in found:
            if not item.predictions or _same(recorded.get(item.scope), item):
                continue
            record_set(
                PredictionSet(study=study, kind=PredictionSet.Kind.DEVELOPMENT, fold=item.scope),
                item.fitted.model_record(),
                environment,
                [prediction.to_record() for prediction in item.predictions],
                panel if item.scope == PANEL else pool,
                pool,
            )
    return [item for item in development_sets(study) if item.method == name]


def record_all_developments(study: Study) -> dict[str, int]:
    """Record every method in development on a study that has predictions of its own.

    Returns how many sets each method has; empty for a study that fits nothing, or has predicted nothing yet.
    """
    if panel_set(study) is None:
        return {}
    return {
        method.name: len(record_development(study, method.name))
        for method in methods_in_development(protocols.rules(study))
    }


def _fitting_rules(study: Study) -> ProtocolRules:
    rules = protocols.rules(study)
    if rules.kind is not ProtocolKind.FITS:
        parent = study.parent.slug if study.parent else "its parent"
        raise ServiceError(
            f"study {study.slug} fits nothing: its predictions are inherited; develop on {parent} instead"
        )
    return rules


def _same(recorded: PredictionSet | None, item: Developed) -> bool:
    if recorded is None or recorded.fitted_model is None:
        return False
    there = [prediction.to_record() for prediction in method_predictions(recorded)]
    here = [prediction.to_record() for prediction in item.predictions]
    model = canonical(recorded.fitted_model.parameters) == canonical(item.fitted.model_record())
    return model and digest(there) == digest(here)
