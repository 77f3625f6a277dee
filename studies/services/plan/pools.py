"""Recorded configurations as the estimation package's pool and targets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from django.db.models import Count, Model, Sum

from studies.estimation.errors import EstimationError
from studies.estimation.families import family_of
from studies.estimation.labels import Label
from studies.estimation.pool import Pool as FittingPool
from studies.estimation.pool import PoolConfiguration, Target
from studies.estimation.rules import ProtocolRules
from studies.estimation.volumes import Architecture, Settings
from studies.models import (
    Configuration,
    FittedModel,
    ModelArchitecture,
    Pool,
    PoolOutcome,
    PredictionSet,
    Study,
)
from studies.services.errors import ServiceError


def architectures(pool: Pool) -> dict[str, Architecture]:
    """The pool's architectures by model id, in one query."""
    return {row.model_id: architecture_of(row) for row in pool.architectures.all()}


def architecture_of(row: ModelArchitecture) -> Architecture:
    """The counts that the volumes need."""
    return Architecture.from_metadata(
        {name: getattr(row, name) for name in Architecture.__dataclass_fields__}
    )


def settings_of(configuration: Configuration) -> Settings:
    """The settings that rules read."""
    return Settings.from_row(_texts(configuration) | {"study": configuration.source_study})


def target_of(configuration: Configuration, known: dict[str, Architecture]) -> Target:
    """A configuration to predict, nothing observed.

    Raises ``ServiceError`` for a model whose architecture is not recorded.
    """
    if configuration.model_id not in known:
        raise ServiceError(
            f"{configuration}: model_id is {configuration.model_id!r}, "
            f"expected one of {', '.join(sorted(known))}"
        )
    return Target(settings_of(configuration), known[configuration.model_id])


def pool_configuration(configuration: Configuration, known: dict[str, Architecture]) -> PoolConfiguration:
    """A pool configuration with its recorded outcome; ``configuration.pool_outcome`` should be loaded."""
    row = _texts(configuration) | {"study": configuration.source_study}
    outcome = _texts(configuration.pool_outcome) | {"configuration_id": configuration.configuration_id}
    return PoolConfiguration.from_rows(row, outcome, known)


def measured_pool(pool: Pool) -> list[PoolConfiguration]:
    """Every configuration of the pool that has one of the three labels and can be read as the rules need it.

    Configurations of a model without architecture, and those that a rule can't read, are left out.
    """
    known = architectures(pool)
    rows = pool.configurations.filter(model_id__in=known, pool_outcome__observed_state__in=list(Label))
    found = []
    for row in rows.select_related("pool_outcome"):
        with suppress(EstimationError):
            found.append(pool_configuration(row, known))
    return found


def fitting_pool(study: Study, rules: ProtocolRules) -> FittingPool:
    """The configurations that the study's effective protocol permits for fitting, in two queries.

    Raises ``ServiceError`` if the study has no pool, or ``EstimationError`` if the protocol fits nothing.
    """
    ids = rules.require_fitting().source_configuration_ids
    pool = pool_of(study)
    known = architectures(pool)
    rows = pool.configurations.filter(configuration_id__in=ids).select_related("pool_outcome")
    return FittingPool.of(pool_configuration(row, known) for row in rows)


def pool_of(study: Study) -> Pool:
    """The study's pool.

    Raises ``ServiceError`` if it has none.
    """
    if study.pool is None:
        raise ServiceError(f"study {study.slug} has no pool to fit on")
    return study.pool


def targets(study: Study, configuration_ids: Iterable[str]) -> list[Target]:
    """The study's targets in the order of ``configuration_ids``."""
    known = architectures(pool_of(study))
    rows = {row.configuration_id: row for row in study.configurations.all()}
    return [target_of(rows[name], known) for name in configuration_ids]


@cache
def _columns(model: type[Model]) -> tuple[str, ...]:
    return tuple(item.attname for item in model._meta.concrete_fields)


def _texts(row: Model) -> dict[str, str]:
    """A row as a table would spell it: null is blank, never zero."""
    values = ((name, getattr(row, name)) for name in _columns(type(row)))
    return {name: "" if value is None else str(value) for name, value in values}


@dataclass(frozen=True)
class PoolFit:
    """One recorded fit.

    Attributes:
        study: the study that was fitted.
        fold: held-out family; empty for the final fit.
        fitted: configurations fitted on.
        tested: configurations of the held-out family; None for the final fit.
        eligible_processes, recorded_attempts: behind the fitted configurations.
        completed_peaks: fitted configurations whose processes all completed.
        configuration_ids: the fitted configurations.
    """

    study: Study
    fold: str
    fitted: int
    tested: int | None
    eligible_processes: int
    recorded_attempts: int
    completed_peaks: int
    configuration_ids: frozenset[str]


@dataclass(frozen=True)
class Holdings:
    """All of a pool, fitted on or not."""

    configurations: int
    eligible_processes: int
    recorded_attempts: int
    excluded_attempts: int


def holdings(pool: Pool) -> Holdings:
    """Sums over the whole pool, in one query."""
    sums = PoolOutcome.objects.filter(configuration__pool=pool).aggregate(
        eligible=Sum("eligible_processes"),
        attempts=Sum("recorded_attempts"),
        excluded=Sum("excluded_attempts"),
    )
    return Holdings(
        configurations=pool.configurations.count(),
        eligible_processes=sums["eligible"] or 0,
        recorded_attempts=sums["attempts"] or 0,
        excluded_attempts=sums["excluded"] or 0,
    )


def pool_fits(pool: Pool) -> list[PoolFit]:
    """Every fit of a study's own methods on this pool, final fits before folds, from the models' own counts.

    Methods in development are no part of a study; they learn from the same configurations.
    """
    models = (
        FittedModel.objects.filter(study__pool=pool)
        .exclude(prediction_sets__kind=PredictionSet.Kind.DEVELOPMENT)
        .select_related("study")
        .order_by("study__slug", "pk")
    )
    folds = PredictionSet.objects.filter(study__pool=pool, kind=PredictionSet.Kind.FOLD)
    tested = dict(
        folds.order_by()
        .values("fitted_model_id")
        .annotate(number=Count("predictions__configuration", distinct=True))
        .values_list("fitted_model_id", "number")
    )
    fits = [_fit(model, tested.get(model.pk)) for model in models]
    return sorted(fits, key=lambda fit: (fit.study.slug, fit.fold != "", fit.fold))


def _fit(model: FittedModel, tested: int | None) -> PoolFit:
    learned = model.parameters
    ids = frozenset(learned["training_configuration_ids"])
    return PoolFit(
        study=model.study,
        fold=model.fold,
        fitted=len(ids),
        tested=tested if model.fold else None,
        eligible_processes=learned["eligible_source_processes"],
        recorded_attempts=learned["recorded_source_attempts"],
        completed_peaks=len(learned["regression_training_configuration_ids"]),
        configuration_ids=ids,
    )


@dataclass(frozen=True)
class PoolLabel:
    """What the summaries group: one pool configuration's place and label."""

    configuration_id: str
    family: str
    source_study: str
    label: str


def outcomes(pool: Pool) -> list[PoolLabel]:
    """Place and label of every pool configuration, in two queries.

    Each family is named as its architectures are; a model of which none is known stands under its own id.
    """
    recorded = dict(pool.architectures.values_list("model_id", "family"))
    rows = PoolOutcome.objects.filter(configuration__pool=pool).order_by("configuration__configuration_id")
    return [
        PoolLabel(name, family_of(model, recorded.get(model)), source, label)
        for name, model, source, label in rows.values_list(
            "configuration__configuration_id",
            "configuration__model_id",
            "configuration__source_study",
            "observed_state",
        )
    ]


def labels_by(found: Iterable[PoolLabel], group: Callable[[PoolLabel], str]) -> dict[str, Counter[str]]:
    """Number of configurations by group and label, groups in alphabetical order."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in found:
        counts[group(outcome)][outcome.label] += 1
    return dict(sorted(counts.items()))


def final_fits(fits: Sequence[PoolFit]) -> list[PoolFit]:
    """The fits whose predictions studies sealed."""
    return [fit for fit in fits if not fit.fold]
