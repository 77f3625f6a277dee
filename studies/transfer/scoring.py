"""Scores of predictions by task, by track and in total, under the study's key names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studies.estimation.labels import Answer, Label
from studies.estimation.scoring import Case, answers, score_cases
from studies.transfer.suite import Query, Suite, source_cost

COUNTS = (
    "queries", "correct_three_state", "approved", "approved_within_margin", "approved_memory_failure",
    "approved_above_margin", "rejected_within_margin",
)  # fmt: skip
"""The whole numbers of a scope that tables show."""


def score_suite(
    suite: Suite,
    predictions: Mapping[str, Answer],
    selection: str,
    task_ids: Sequence[str] | None = None,
    *,
    undecided_as_rejected: bool = False,
) -> dict[str, Any]:
    """Scores of ``predictions`` (label by query id) on one track or all.

    Beside the study's keys each scope has ``answers``, its approved, rejected and undecided queries by
    observed label, and how many of the undecided ones were usable and not. An undecided answer is not right,
    in accuracies too. ``undecided_as_rejected`` counts them as rejected, and each scope says so.

    ``task_ids`` narrows the scopes to some tasks. ``overall`` describes and ranks nothing: tracks differ in
    what they ask. Rates without a denominator are None.

    Raises:
        KeyError: a query without prediction; ``submission.check`` tells that to a person beforehand.
    """

    def scope(queries: Sequence[Query]) -> dict[str, Any]:
        return _scope(suite, predictions, queries, undecided_as_rejected)

    tasks = [task for task in suite.tasks_of(selection) if task_ids is None or task.task_id in task_ids]
    per_task = {task.task_id: scope(task.queries) for task in tasks}
    per_track = {}
    for track in dict.fromkeys(task.track for task in tasks):
        own = [task for task in tasks if task.track is track]
        accuracies = [per_task[task.task_id]["three_state_accuracy"] for task in own]
        per_track[track.value] = {
            **scope([query for task in own for query in task.queries]),
            "tasks": len(own),
            "macro_task_three_state_accuracy": sum(accuracies) / len(accuracies),
        }
    everything = [query for task in tasks for query in task.queries]
    return {
        "selected_track": selection,
        "overall": {**scope(everything), "tasks": len(tasks)},
        "per_track": per_track,
        "per_task": per_task,
    }


def _scope(
    suite: Suite, predictions: Mapping[str, Answer], queries: Sequence[Query], undecided_as_rejected: bool
) -> dict[str, Any]:
    cases = [Case(predictions[item.query_id], suite.configurations[item.target_id].truth) for item in queries]
    given = answers(cases)
    undecided, usable = sum(given["undecided"].values()), given["undecided"][Label.WITHIN_MARGIN.value]
    return {
        **score_cases(cases, undecided_as_rejected=undecided_as_rejected),
        "answers": given,
        "undecided_within_margin": usable,
        "undecided_other": undecided - usable,
        **source_cost(suite, queries),
    }
