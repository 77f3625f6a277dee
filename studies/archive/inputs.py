"""What the computations of a study that fits start from, read from its archive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError
from studies.archive.layout import METADATA, Layout
from studies.archive.plans import Plan
from studies.archive.pools import architecture_record, read_pool_rows
from studies.estimation.errors import EstimationError
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.study import check_pool, restore
from studies.estimation.volumes import Architecture, Settings


@dataclass(frozen=True)
class Inputs:
    """What the recomputations of a study that fits start from."""

    plan: Plan
    pool: Pool
    targets: list[Target]
    retrospective: dict[str, Any]
    fitted: dict[str, Any]
    predictions: Any


def read_inputs(root: Root, layout: Layout, plan: Plan) -> Inputs:
    """Pool, targets and stored results of a study.

    Raises ``ArchiveError`` for a model without architecture and ``EstimationError`` for a pool configuration
    without a label, a blank that a rule reads, or a count that contradicts another.
    """
    metadata = Document(METADATA, root.document(METADATA))
    known = {
        name: Architecture.from_metadata(architecture_record(metadata, name).fields)
        for name in metadata.values
    }
    configurations, outcomes = read_pool_rows(root)
    wanted = set(plan.rules.require_fitting().source_configuration_ids)
    pool = Pool.of(
        PoolConfiguration.from_rows(row.cells, outcomes[row.cells["configuration_id"]].cells, known)
        for row in configurations
        if row.cells["configuration_id"] in wanted
    )
    targets = []
    for row in plan.targets:
        settings = Settings.from_row(row.cells)
        if settings.model_id not in known:
            raise row.fail("model_id", settings.model_id, f"a model of {METADATA}")
        targets.append(Target(settings, known[settings.model_id]))
    return Inputs(
        plan,
        pool,
        targets,
        root.document(layout.path("retrospective.json")),
        root.document(layout.path("fitted_model.json")),
        root.json(layout.path("predictions.json")),
    )


def check_computable(root: Root, layout: Layout, plan: Plan) -> None:
    """The stored fit can predict every target, whatever it predicts.

    Raises ``ArchiveError``: another pool or feature order than the protocol's, a target without donor, a
    volume that is not finite.
    """
    try:
        inputs = read_inputs(root, layout, plan)
        check_pool(inputs.pool, plan.rules)
        restore(inputs.fitted, inputs.pool, plan.rules).predict(inputs.targets)
    except EstimationError as error:
        raise ArchiveError(f"{layout.folder}: {error}") from None
