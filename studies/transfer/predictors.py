"""The reference, and the registry's methods run inside single tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Answer, Label
from studies.estimation.methods import Method
from studies.estimation.methods.base import Matched
from studies.estimation.pool import Pool
from studies.estimation.rules import ProtocolRules
from studies.transfer.suite import ALL_TRACKS, Suite, Task


def reference(suite: Suite, selection: str = ALL_TRACKS) -> dict[str, Label]:
    """The label of each query's matched donor, by query id. No target's outcome is read."""
    return {
        query.query_id: suite.configurations[query.source_id].label for query in suite.queries_of(selection)
    }


@dataclass(frozen=True)
class TaskRun:
    """One method on one task: its predictions by query id, or why it is not applicable."""

    task: Task
    predictions: Mapping[str, Answer]
    reason: str = ""

    @property
    def applicable(self) -> bool:
        return not self.reason


def run_on_task(method: type[Method], rules: ProtocolRules, task: Task, pool: Pool) -> TaskRun:
    """Fit ``method`` on the task's donors alone and predict its targets.

    A method that learns needs all three labels among the donors. Whatever else a method refuses, a target
    without a permitted donor for example, makes it not applicable.
    """
    donors = pool.restricted_to(task.source_ids, task.task_id)
    if method.learns:
        absent = [label.replace("_", " ") for label in Label if label not in {item.label for item in donors}]
        if absent:
            return TaskRun(task, {}, f"no donor has the label {' or '.join(absent)}")
    queries = [
        Matched(pool.by_id[query.target_id].as_target(), pool.by_id[query.source_id])
        for query in task.queries
    ]
    try:
        predicted = method.answer_task(rules, donors, queries)
    except EstimationError as error:
        refusal = f"it finds no {error.field}" if error.value is None else f"it refuses the {error.field}"
        return TaskRun(task, {}, f"{refusal} among what the task permits")
    return TaskRun(
        task,
        {query.query_id: item.predicted_state for query, item in zip(task.queries, predicted, strict=True)},
    )
