"""Answers as JSON documents and tables, the same for the API and the command. GiB and MiB per device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from studies.estimation.methods import Prediction
from studies.estimation.reasons import Cell as ReasonsCell
from studies.estimation.reasons import Reasons, Ref
from studies.estimation.reasons import Table as ReasonsTable
from studies.estimation.volumes import Settings
from studies.estimation.what_if import BY_TYPE, Answer
from studies.estimation.what_if_grid import Cell
from studies.models import Study
from studies.services.questions.asking import Asked

GRID_COLUMNS = (
    "model_id", "gpu_count", "rollout_tp_size", "vllm_gpu_memory_utilization", "method", "predicted_state",
    "approves", "predicted_peak_mib", "volumes_outside_the_pool", "refused",
)  # fmt: skip
_SCORES = (
    "approved", "approved_within_margin", "approved_above_margin", "approved_memory_failure",
    "rejected_within_margin",
)  # fmt: skip


def answer_document(study: Study, asked: Asked) -> dict[str, Any]:
    """Everything that the page shows of an answer."""
    settings, model = asked.target.settings, asked.target.architecture
    return {
        "study": study.slug,
        "model": {
            "model_id": model.model_id,
            "family": model.family,
            "parameters": model.floating_checkpoint_elements,
            "adapter_parameters": model.all_linear_layer_adapter_elements,
            "weights_gib": {
                size.name: size.weights_gib(model.floating_checkpoint_elements) for size in BY_TYPE
            },
        },
        "device_capacity_mib": settings.device_capacity_mib,
        "margin_limit_mib": settings.margin_limit_mib,
        "answers": [_answer(item, asked.held_out) for item in asked.answers],
        "volumes": [
            {
                "name": reach.feature,
                "gib": reach.gib,
                "lowest_measured_gib": reach.lowest_gib,
                "highest_measured_gib": reach.highest_gib,
                "inside": reach.inside,
            }
            for reach in asked.support.reaches
        ],
        "neighbours": [
            {
                "configuration_id": near.configuration.configuration_id,
                "distance": near.distance,
                "observed_state": near.configuration.label.value,
                "completed_peak_mib": near.configuration.completed_peak_mib,
            }
            for near in asked.support.nearest
        ],
        "offload": [
            {
                "parameter_offload": item.parameters,
                "optimizer_offload": item.optimizer,
                "device_gib": item.resident_gib,
                "host_gib": item.host_gib,
                "approved_by": list(item.approving),
            }
            for item in asked.offloads
        ],
    }


def _answer(item: Answer, held_out: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "method": item.method,
        "development": item.development,
        "refused": item.refused or None,
        **_prediction(item.prediction),
        "reasons": _reasons(item.reasons) if item.reasons else None,
        "would_approve_with": [
            {
                "setting": change.field,
                "value": change.after,
                "instead_of": change.before,
                "predicted_peak_mib": change.peak_mib,
            }
            for change in item.changes
        ],
        "held_out_families": {
            family: {name: scores[item.method].get(name) for name in _SCORES}
            for family, scores in held_out.items()
            if item.method in scores
        },
    }


def _prediction(prediction: Prediction | None) -> dict[str, Any]:
    if prediction is None:
        return {"predicted_state": None, "approves": None, "predicted_peak_mib": None}
    interval, budget = prediction.interval, prediction.startup_budget
    return {
        "predicted_state": prediction.predicted_state.value,
        "approves": prediction.approves,
        "predicted_peak_mib": prediction.predicted_peak_mib,
        "predicted_peak_lower_mib": interval.low if interval else None,
        "predicted_peak_upper_mib": interval.high if interval else None,
        "donor": prediction.donor_configuration_id,
        "donor_gpu_count_matches": prediction.donor_gpu_count_matches,
        "startup_check": {
            "applies": budget.applicable,
            "sum_mib": budget.budget_plus_actor_mib,
            "predicts_failure": budget.predicts_failure,
            "changed_the_prediction": prediction.startup_guard_changed_state,
        },
        "remark": prediction.remark,
    }


def _reasons(reasons: Reasons) -> dict[str, Any]:
    return {
        "title": reasons.title,
        "sentences": list(reasons.sentences),
        "tables": [_table(table) for table in reasons.tables],
    }


def _table(table: ReasonsTable) -> dict[str, Any]:
    rows = [*table.rows, table.total] if table.total else table.rows
    return {
        "caption": table.caption,
        "columns": [column.heading for column in table.columns],
        "rows": [[_cell(cell) for cell in row] for row in rows],
    }


def _cell(cell: ReasonsCell) -> str | float | int | None:
    return cell.configuration_id if isinstance(cell, Ref) else cell


def grid_document(study: Study, settings: Settings, cells: Sequence[Cell]) -> dict[str, Any]:
    """A grid's rows, one for each cell and method; a shape that can't exist is one row without method."""
    return {
        "study": study.slug,
        "device_capacity_mib": settings.device_capacity_mib,
        "margin_limit_mib": settings.margin_limit_mib,
        "rows": [dict(zip(GRID_COLUMNS, row, strict=True)) for row in grid_rows(cells)],
    }


def grid_rows(cells: Sequence[Cell]) -> Iterator[tuple[Any, ...]]:
    """The rows of a grid under ``GRID_COLUMNS``; None where there is nothing to say."""
    for cell in cells:
        place = (cell.model_id, cell.gpu_count, cell.rollout_tp_size, cell.reservation)
        if cell.refused:
            yield (*place, None, None, None, None, None, cell.refused)
        for said in cell.said:
            found = said.prediction
            yield (
                *place,
                said.method,
                found.predicted_state.value if found else None,
                found.approves if found else None,
                found.predicted_peak_mib if found else None,
                cell.outside,
                said.refused or None,
            )
