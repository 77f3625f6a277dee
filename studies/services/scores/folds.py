"""One held-out family, target by target: what was recorded and what each method said."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from studies.estimation.cells import cell_state
from studies.estimation.labels import Label, Resolution
from studies.models import Configuration, Evaluation, Prediction, PredictionSet, Study
from studies.services.plan.pools import architectures, pool_configuration, pool_of
from studies.services.predictions.recorded import in_method_order, rows_of


@dataclass(frozen=True)
class FoldRow:
    """One configuration of the held-out family; ``cells`` are keys of the site's ``MARKS`` by method."""

    configuration: Configuration
    resolution: Resolution
    predictions: dict[str, Prediction]
    cells: dict[str, str]


def load_fold(prediction_set: PredictionSet) -> list[FoldRow]:
    """Every target of a fold by id, in a number of queries that does not grow with it."""
    pool = pool_of(prediction_set.study)
    known = architectures(pool)
    named: dict[int, dict[str, Prediction]] = defaultdict(dict)
    for row in rows_of(prediction_set):
        named[row.configuration_id][row.method] = row
    targets = (
        pool.configurations.filter(pk__in=named).select_related("pool_outcome").order_by("configuration_id")
    )
    rows = []
    for configuration in targets:
        found = pool_configuration(configuration, known)
        resolution = measured(configuration, found.label, found.completed_peak_mib)
        predictions = named[configuration.pk]
        rows.append(
            FoldRow(
                configuration=configuration,
                resolution=resolution,
                predictions={method: predictions[method] for method in in_method_order(predictions)},
                cells={method: cell_state(item.label, resolution) for method, item in predictions.items()},
            )
        )
    return rows


def measured(configuration: Configuration, label: Label, completed_peak_mib: float | None) -> Resolution:
    """The resolution of a pool configuration. Its source gives counts and no single seeds."""
    outcome = configuration.pool_outcome
    return Resolution(
        label=label,
        known_memory_failure=outcome.memory_failure_processes > 0,
        known_margin_exceedance=outcome.above_margin_processes > 0,
        completed_processes=outcome.completed_eligible_processes,
        eligible_seeds=(),
        unresolved_seeds=(),
        completed_peak_mib=completed_peak_mib,
        maximum_known_completed_peak_mib=outcome.max_completed_run_peak_mib,
    )


def recorded_folds(study: Study) -> dict[str, dict[str, Any]]:
    """Each family's newest recorded scores by method, in the study's order; empty without any."""
    evaluations = Evaluation.objects.filter(
        study=study, prediction_set__kind=PredictionSet.Kind.FOLD
    ).select_related("prediction_set")
    newest: dict[str, dict[str, Any]] = {
        item.prediction_set.fold: item.result["scores"] for item in evaluations.order_by("pk")
    }
    # A database may keep the keys of an object in any order; ours is the study's.
    return {
        family: {method: scores[method] for method in in_method_order(scores)}
        for family, scores in sorted(newest.items())
    }
