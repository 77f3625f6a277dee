"""What became of a study, as flat rows: configurations, confusion counts, pairs, costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from studies.estimation.labels import parse_answer
from studies.estimation.tables import outcome_cells, prediction_cells
from studies.models import Study
from studies.services.scores.costs import panel_cost
from studies.services.scores.evaluation import evaluation_document
from studies.services.scores.pairs import MatchedPair, matched_pairs
from studies.services.scores.panel import PanelRow, load_panel

CONFUSION = "confusion_matrix_predicted_rows_observed_columns"


def flat_cells(row: PanelRow) -> dict[str, Any]:
    """What was observed of a configuration and what each method predicted, by column."""
    cells = outcome_cells(row.resolution)
    for method, item in row.predictions.items():
        cells |= prediction_cells(method, parse_answer(item.label, method), item.peak_mib, row.resolution)
    return cells


def confusion_rows(study: Study) -> Iterator[dict[str, Any]]:
    """How often each method called what by what: the panel's resolved part, and each held-out family.

    ``held_out_family`` is empty for the panel. Families and panel are never pooled.
    Raises ``ServiceError`` if nothing is predicted yet.
    """
    document = evaluation_document(study)
    scopes = {"": document["evaluation"]["resolved_subset_metrics"]}
    scopes |= {family: item["scores"] for family, item in document["folds"].items()}
    for family, methods in scopes.items():
        for method, scores in methods.items():
            for predicted, observed in scores[CONFUSION].items():
                for label, count in observed.items():
                    yield {
                        "held_out_family": family,
                        "method": method,
                        "predicted_state": predicted,
                        "observed_state": label,
                        "configurations": count,
                    }


def pair_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Matched pairs in planned order. Differences are more GPUs less fewer, None unless both completed."""
    for item in matched_pairs(load_panel(study)):
        yield _pair(item)


def _pair(item: MatchedPair) -> dict[str, Any]:
    pair = item.pair
    return {
        "pair_id": pair.first.pair_id,
        "dataset": pair.first.dataset,
        "configuration_level": pair.first.configuration_level,
        "training_seed": pair.first.outcome.seed,
        "first_gpu_count": pair.first.task_gpu_count,
        "fewer_gpus": pair.fewer.task_gpu_count,
        "fewer_gpus_slot": item.fewer.slot.experiment_id,
        "fewer_gpus_state": pair.fewer_state,
        "more_gpus": pair.more.task_gpu_count,
        "more_gpus_slot": item.more.slot.experiment_id,
        "more_gpus_state": pair.more_state,
        "both_eligible": pair.both_eligible,
        "both_completed": pair.both_completed,
        "peak_difference_mib": pair.peak_difference_mib,
        "runtime_difference_seconds": pair.runtime_difference_seconds,
    }


def cost_rows(study: Study) -> Iterator[dict[str, Any]]:
    """GPU time by scope, GPU-seconds. The scopes overlap: no two may be added."""
    for cost in panel_cost(study):
        yield {
            "scope": cost.scope.value,
            "known_gpu_seconds": cost.known_gpu_seconds,
            "complete_total_gpu_seconds": cost.complete_total_gpu_seconds,
            "known_records": cost.known_records,
            "unknown_records": cost.unknown_records,
            "stated_known_gpu_seconds": cost.stated.known_gpu_seconds if cost.stated else None,
        }
