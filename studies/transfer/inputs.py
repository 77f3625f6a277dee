"""What a predictor is given. Every task stands alone: it is made from its own donors and nothing else."""

from __future__ import annotations

from typing import Any

from studies.estimation.labels import Label
from studies.transfer.suite import Suite, Task

FORMAT = "rlvram-transfer-inputs"
VERSION = 1


def task_input(suite: Suite, task: Task) -> dict[str, Any]:
    """The permitted donor settings with their measurements, and the targets' settings, nothing measured."""
    return {
        "task_id": task.task_id,
        "track": task.track.value,
        "source_case_id": task.source_case_id,
        "source": [
            {
                "settings": dict(suite.configurations[name].settings),
                "measurements": dict(suite.configurations[name].measurements),
            }
            for name in task.source_ids
        ],
        "targets": [
            {
                "query_id": query.query_id,
                "matched_source_configuration_id": query.source_id,
                "settings": dict(suite.configurations[query.target_id].settings),
            }
            for query in task.queries
        ],
    }


def inputs_document(suite: Suite, selection: str) -> dict[str, Any]:
    """The inputs of one track, or of all, as a list of tasks that are each complete alone.

    Raises:
        EstimationError: a track that does not exist.
    """
    tasks = suite.tasks_of(selection)
    return _document(suite, selection, tasks)


def task_document(suite: Suite, task_id: str) -> dict[str, Any]:
    """The same for a single task.

    Raises:
        EstimationError: a task that does not exist.
    """
    task = suite.task(task_id)
    return _document(suite, task.track.value, [task])


def _document(suite: Suite, selection: str, tasks: list[Task]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "track": selection,
        "predict": {"field": "predicted_state", "one_of": [label.value for label in Label]},
        "rule": (
            "Answer each task from its own source measurements only. Tasks reverse roles: a source of one "
            "task is a target of another."
        ),
        "tasks": [task_input(suite, task) for task in tasks],
    }
