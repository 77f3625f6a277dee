"""Tracks, tasks and queries, and the rules between them.

A query asks for the label of one target configuration. Its task permits the measurements of one donor
case. Other tasks ask for that donor's labels, so what one task permits must not reach another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label, parse_label
from studies.estimation.scoring import Truth


class Track(StrEnum):
    """What differs between a donor and its targets."""

    MODEL = "model_transfer"
    WORKLOAD = "workload_transfer"
    GPU_COUNT = "gpu_count_transfer"
    HORIZON = "horizon_transfer"


ALL_TRACKS = "all"
"""In place of one track: all of them together."""

SELECTIONS = (*(track.value for track in Track), ALL_TRACKS)


def parse_selection(value: object, offender: str = "transfer suite") -> str:
    """One track's name or ``all``.

    Raises:
        EstimationError: any other value.
    """
    if value not in SELECTIONS:
        raise EstimationError(offender, "track", value, "one of " + ", ".join(SELECTIONS))
    return str(value)


@dataclass(frozen=True)
class Measured:
    """A configuration of the suite: its settings, and what was measured of it.

    Attributes:
        settings: every column of the configurations table by its name; None for a blank.
        measurements: every column of the outcomes table by its name; None for a blank. Peaks are MiB.
    """

    settings: Mapping[str, Any]
    measurements: Mapping[str, Any]

    @property
    def configuration_id(self) -> str:
        return str(self.settings["configuration_id"])

    @property
    def case_id(self) -> str:
        return str(self.settings["case_id"])

    @cached_property
    def label(self) -> Label:
        """The repeated label.

        Raises:
            EstimationError: it was not repeated, so it has none.
        """
        return parse_label(self.measurements["observed_state"], self.configuration_id, "observed_state")

    @cached_property
    def truth(self) -> Truth:
        """The outcome to score against; a failure has no peak."""
        failed = self.label is Label.MEMORY_FAILURE
        peak = None if failed else self.measurements["max_completed_run_peak_mib"]
        return Truth(self.configuration_id, self.label, peak)


@dataclass(frozen=True)
class Query:
    """Which label is asked for, and which measured configuration of the donor case matches the target."""

    query_id: str
    task_id: str
    track: Track
    source_id: str
    target_id: str


@dataclass(frozen=True)
class Task:
    """The queries that may be answered from one donor case."""

    task_id: str
    track: Track
    source_case_id: str
    queries: tuple[Query, ...]

    @property
    def source_ids(self) -> list[str]:
        """The donor case's configurations that the task permits, ascending."""
        return sorted({query.source_id for query in self.queries})


@dataclass(frozen=True)
class Suite:
    """All queries of one pool, ascending by id, and the configurations they name."""

    queries: tuple[Query, ...]
    configurations: Mapping[str, Measured]

    @classmethod
    def of(cls, queries: Iterable[Query], configurations: Iterable[Measured]) -> Suite:
        """Order the queries and check every rule between them.

        Raises:
            EstimationError: the rule that does not hold, with its offender named.
        """
        known = {item.configuration_id: item for item in configurations}
        suite = cls(tuple(sorted(queries, key=lambda query: query.query_id)), known)
        _check(suite)
        return suite

    @cached_property
    def by_id(self) -> dict[str, Query]:
        """Queries by their id."""
        return {query.query_id: query for query in self.queries}

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """Tasks by their id, ascending, those of a track together in the order of ``Track``."""
        grouped: dict[str, list[Query]] = {}
        for query in self.queries:
            grouped.setdefault(query.task_id, []).append(query)
        found = [
            Task(name, rows[0].track, self.configurations[rows[0].source_id].case_id, tuple(rows))
            for name, rows in grouped.items()
        ]
        order = list(Track)
        found.sort(key=lambda task: (order.index(task.track), task.task_id))
        return {task.task_id: task for task in found}

    def task(self, task_id: str) -> Task:
        """The task of this id.

        Raises:
            EstimationError: there is none.
        """
        if task_id not in self.tasks:
            raise EstimationError("transfer suite", "task", task_id, "the id of a task of this suite")
        return self.tasks[task_id]

    @cached_property
    def tracks(self) -> list[Track]:
        """The tracks that have queries."""
        return list(dict.fromkeys(task.track for task in self.tasks.values()))

    def tasks_of(self, selection: str) -> list[Task]:
        """The tasks of one track, or every task for ``all``."""
        wanted = parse_selection(selection)
        return [task for task in self.tasks.values() if wanted in (ALL_TRACKS, task.track)]

    def queries_of(self, selection: str) -> list[Query]:
        """The queries of one track, or every query for ``all``, ascending by id."""
        wanted = parse_selection(selection)
        return [query for query in self.queries if wanted in (ALL_TRACKS, query.track)]

    @property
    def target_ids(self) -> set[str]:
        """Configurations that some query asks for."""
        return {query.target_id for query in self.queries}

    @property
    def used_ids(self) -> set[str]:
        """Configurations that are a donor or a target of some query."""
        return self.target_ids | {query.source_id for query in self.queries}


def _check(suite: Suite) -> None:
    for query_id, number in Counter(query.query_id for query in suite.queries).items():
        if number > 1:
            raise EstimationError("transfer suite", "query_id", query_id, "each query once")
    for query in suite.queries:
        _check_query(query, suite.configurations)
    for task in suite.tasks.values():
        _check_task(task, suite.configurations)


def _check_query(query: Query, known: Mapping[str, Measured]) -> None:
    if not isinstance(query.track, Track):
        raise EstimationError(query.query_id, "track", query.track, "one of " + ", ".join(Track))
    for field, name in (("source", query.source_id), ("target", query.target_id)):
        if name not in known:
            raise EstimationError(query.query_id, field, name, "a configuration of the pool")
        _ = known[name].truth  # a configuration without a repeated label can neither be copied nor scored
    source, target = known[query.source_id], known[query.target_id]
    if source.case_id == target.case_id:
        raise EstimationError(query.query_id, "target case", target.case_id, "another case than the donor's")


def _check_task(task: Task, known: Mapping[str, Measured]) -> None:
    targets = Counter(query.target_id for query in task.queries)
    for query in task.queries:
        if query.track is not task.track:
            raise EstimationError(task.task_id, "track", query.track.value, f"{task.track} as before")
        case = known[query.source_id].case_id
        if case != task.source_case_id:
            raise EstimationError(task.task_id, "donor case", case, f"one case, {task.source_case_id}")
        if targets[query.target_id] > 1:
            raise EstimationError(task.task_id, "target", query.target_id, "each target once in a task")
    _refuse_permitted_targets(task, targets)


def _refuse_permitted_targets(task: Task, targets: Iterable[str]) -> None:
    permitted = set(task.source_ids)
    for target in targets:
        if target in permitted:
            raise EstimationError(task.task_id, "target", target, "no configuration that the task permits")


def source_cost(suite: Suite, queries: Sequence[Query]) -> dict[str, int]:
    """What the distinct donors behind ``queries`` took. Costs of two scopes overlap: never add them."""
    found = {query.source_id: suite.configurations[query.source_id].measurements for query in queries}
    return {
        "distinct_source_configurations": len(found),
        "eligible_source_processes": sum(item["eligible_processes"] for item in found.values()),
        "recorded_source_attempts": sum(item["recorded_attempts"] for item in found.values()),
    }
