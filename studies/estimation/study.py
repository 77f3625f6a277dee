"""The study's computations end to end: folds, final fit, predictions, recomputation from stored fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studies.estimation.costs import source_cost
from studies.estimation.errors import EstimationError
from studies.estimation.folds import Fold, leave_family_out
from studies.estimation.methods import Method, Prediction, method_class
from studies.estimation.numerics import one_thread
from studies.estimation.pool import Pool, Target, check_targets
from studies.estimation.rules import ProtocolRules
from studies.estimation.scoring import Truth, score


@dataclass(frozen=True)
class FittedStudy:
    """All methods of a protocol, fitted on one pool.

    Attributes:
        rules: the effective protocol.
        pool: what was fitted.
        methods: fitted methods in the study's order.
    """

    rules: ProtocolRules
    pool: Pool
    methods: tuple[Method, ...]

    def model_record(self) -> dict[str, Any]:
        """Everything that was learned and from what, under the archive's key names."""
        record: dict[str, Any] = {
            "feature_names": list(self.rules.require_fitting().features),
            "training_configuration_ids": self.pool.configuration_ids,
            "eligible_source_processes": self.pool.eligible_processes,
            "recorded_source_attempts": self.pool.recorded_attempts,
        }
        for method in self.methods:
            record |= method.fitted_parameters()
        return record

    def predict(self, targets: Sequence[Target]) -> list[Prediction]:
        """Every method's prediction for every target: by target, then by method.

        Raises:
            EstimationError: a target given twice, in the fitting pool, or planned for another device.
        """
        check_targets(targets, self.pool)
        for target in targets:
            _check_limits(target, self.rules)
        by_method = [method.predict(targets) for method in self.methods]
        return [prediction for group in zip(*by_method, strict=True) for prediction in group]

    def method(self, name: str) -> Method:
        """The fitted method called `name`.

        Raises:
            EstimationError: the protocol has no such method.
        """
        for method in self.methods:
            if method.name == name:
                return method
        raise EstimationError(
            f"protocol {self.rules.protocol_version}",
            "method",
            name,
            "one of " + ", ".join(method.name for method in self.methods),
        )


@dataclass(frozen=True)
class FinalFit:
    """The final fit and what it predicts.

    Attributes:
        fitted: the methods, fitted on the whole pool.
        predictions: by target, then by method.
    """

    fitted: FittedStudy
    predictions: list[Prediction]

    def model_record(self) -> dict[str, Any]:
        """The fitted model with its cost, under the archive's key names."""
        return self.fitted.model_record() | {"source_cost": source_cost(self.fitted.pool, self.predictions)}


def check_pool(pool: Pool, rules: ProtocolRules) -> None:
    """Refuse a pool that is not exactly the one the protocol permits.

    Raises:
        EstimationError: naming a configuration that is missing, not permitted, from another study, or
            measured under other limits.
    """
    fitting = rules.require_fitting()
    permitted = set(fitting.source_configuration_ids)
    for configuration in pool:
        offender = configuration.configuration_id
        if offender not in permitted:
            raise EstimationError(
                "fitting pool", "configuration_id", offender, "a source configuration of the protocol"
            )
        if configuration.settings.study not in fitting.source_studies:
            raise EstimationError(
                offender, "study", configuration.settings.study, "one of " + ", ".join(fitting.source_studies)
            )
        _check_limits(configuration, rules)
    for configuration_id in fitting.source_configuration_ids:
        if configuration_id not in pool:
            raise EstimationError(
                "fitting pool",
                "configuration_id",
                configuration_id,
                "every source configuration of the protocol",
            )


def _check_limits(target: Target, rules: ProtocolRules) -> None:
    settings = target.settings
    for field, found, wanted in (
        ("device_capacity_mib", settings.device_capacity_mib, rules.device_capacity_mib),
        ("margin_limit_mib", settings.margin_limit_mib, rules.memory_margin_limit_mib),
    ):
        if found != wanted:
            raise EstimationError(settings.configuration_id, field, found, f"the protocol's {wanted} MiB")


def fit(pool: Pool, rules: ProtocolRules) -> FittedStudy:
    """Fit every method of the protocol on all of `pool`, with one numerical thread.

    Raises:
        EstimationError: whatever a method refuses.
    """
    methods = _classes(rules)
    with one_thread():
        return FittedStudy(rules, pool, tuple(method.from_rules(rules).fit(pool) for method in methods))


def restore(model: Mapping[str, Any], pool: Pool, rules: ProtocolRules) -> FittedStudy:
    """The fitted study from its recorded model, without fitting anything.

    Args:
        model: a fitted model under the archive's key names.
        pool: configurations to find the recorded fitting configurations in.
        rules: the effective protocol.

    Raises:
        EstimationError: another feature order than the protocol's, a fitting configuration that the pool
            lacks, counts that contradict the pool, or a malformed parameter.
    """
    features = list(rules.require_fitting().features)
    if model.get("feature_names") != features:
        raise EstimationError(
            "fitted model",
            "feature_names",
            model.get("feature_names"),
            f"the effective protocol's order {features}",
        )
    ids = model.get("training_configuration_ids")
    if not isinstance(ids, list) or not ids:
        raise EstimationError(
            "fitted model", "training_configuration_ids", ids, "a list of ids that is not empty"
        )
    fitted_on = pool.restricted_to(ids, "fitted model")
    for field, count in (
        ("eligible_source_processes", fitted_on.eligible_processes),
        ("recorded_source_attempts", fitted_on.recorded_attempts),
    ):
        if model.get(field) != count:
            raise EstimationError("fitted model", field, model.get(field), f"{count}, as the pool has it")
    methods = tuple(method.restore(model, rules, fitted_on) for method in _classes(rules))
    return FittedStudy(rules, fitted_on, methods)


def _classes(rules: ProtocolRules) -> list[type[Method]]:
    return [method_class(name) for name in rules.require_fitting().methods]


def fit_final(pool: Pool, rules: ProtocolRules, targets: Sequence[Target]) -> FinalFit:
    """Fit on the whole permitted pool and predict the protocol's targets.

    Raises:
        EstimationError: another pool or other targets than the protocol's, or whatever a method refuses.
    """
    check_pool(pool, rules)
    check_target_ids([target.configuration_id for target in targets], rules)
    fitted = fit(pool, rules)
    return FinalFit(fitted, fitted.predict(targets))


def check_target_ids(configuration_ids: Sequence[str], rules: ProtocolRules) -> None:
    """Refuse other targets than the ones the protocol plans.

    Raises:
        EstimationError: naming the first target that is missing or not planned.
    """
    planned = rules.target_configuration_ids
    for configuration_id in configuration_ids:
        if configuration_id not in planned:
            raise EstimationError("targets", "configuration_id", configuration_id, "a target of the protocol")
    for configuration_id in planned:
        if configuration_id not in configuration_ids:
            raise EstimationError(
                "targets", "configuration_id", configuration_id, "every target of the protocol"
            )


def retrospective(
    pool: Pool, rules: ProtocolRules, starting: Callable[[str], None] = lambda family: None
) -> dict[str, Any]:
    """Fit and score each held-out family, under the archive's key names. Families are never pooled.

    Args:
        starting: is told each family before its fit.

    Raises:
        EstimationError: another pool than the protocol's, or whatever a method refuses.
    """
    check_pool(pool, rules)
    folds = {}
    with one_thread():
        for fold in leave_family_out(pool):
            starting(fold.family)
            folds[fold.family] = _fold_record(fit(fold.fitting, rules), fold)
    return {"folds": folds}


def recompute_retrospective(stored: Mapping[str, Any], pool: Pool, rules: ProtocolRules) -> dict[str, Any]:
    """Predictions, scores and costs of each fold from its stored fit, without fitting.

    Args:
        stored: a retrospective under the archive's key names; only its models are read.

    Raises:
        EstimationError: other folds than the pool's families, or a model that doesn't fit its fold.
    """
    check_pool(pool, rules)
    folds = stored.get("folds")
    if not isinstance(folds, Mapping) or sorted(folds) != pool.families:
        found = sorted(folds) if isinstance(folds, Mapping) else folds
        raise EstimationError("retrospective", "folds", found, f"one for each family, {pool.families}")
    records = {}
    for fold in leave_family_out(pool):
        fitted = restore(folds[fold.family]["model"], pool, rules)
        if fitted.pool != fold.fitting:
            raise EstimationError(
                f"fold {fold.family}",
                "training_configuration_ids",
                fitted.pool.configuration_ids,
                "exactly the configurations of the other families",
            )
        records[fold.family] = _fold_record(fitted, fold)
    return {"folds": records}


def _fold_record(fitted: FittedStudy, fold: Fold) -> dict[str, Any]:
    predictions = fitted.predict([configuration.as_target() for configuration in fold.test])
    truths = [Truth.of_pool(configuration) for configuration in fold.test]
    return {
        "model": fitted.model_record(),
        "predictions": [prediction.to_record() for prediction in predictions],
        "scores": {
            method.name: score([item for item in predictions if item.method == method.name], truths)
            for method in fitted.methods
        },
        "source_cost": source_cost(fold.fitting, predictions),
    }


def inherit(predictions: Sequence[Prediction], rules: ProtocolRules) -> list[Prediction]:
    """A follow-up's predictions: its parent's, unchanged and in order, under the follow-up's target names.

    Args:
        predictions: all sealed predictions of the parent.
        rules: the follow-up's protocol, which names the origin of each target.

    Raises:
        EstimationError: an origin that was never predicted.
    """
    origins = rules.require_inheritance().prediction_origins
    predicted = {prediction.configuration_id for prediction in predictions}
    for target, origin in origins.items():
        if origin not in predicted:
            raise EstimationError(
                target, "prediction_origins", origin, "a target that the parent study predicted"
            )
    heirs = {origin: target for target, origin in origins.items()}
    return [
        prediction.for_configuration(heirs[prediction.configuration_id])
        for prediction in predictions
        if prediction.configuration_id in heirs
    ]
