"""Recorded configurations as the estimation package's pool and targets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from django.db.models import Model

from studies.estimation.pool import Pool as FittingPool
from studies.estimation.pool import PoolConfiguration, Target
from studies.estimation.rules import ProtocolRules
from studies.estimation.volumes import Architecture, Settings
from studies.models import Configuration, ModelArchitecture, Pool, Study
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
