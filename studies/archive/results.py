"""What happened to the planned slots and what it cost, read into records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studies.archive import columns
from studies.archive.documents import Document, Root, epoch, parse_json
from studies.archive.errors import ArchiveError
from studies.archive.facts import facts_form
from studies.archive.layout import Layout
from studies.archive.records import Record
from studies.archive.tables import Row, read_table
from studies.estimation.labels import UNRESOLVED, Label, exceeds_margin
from studies.estimation.wording import text_sha256

HOST_MEMORY_STATE = "OUT_OF_MEMORY"
_STATES = (*Label, UNRESOLVED)
_SCOPES = ("task_provisioned_time", "invocation_reservation_time", "observed_allocation_time",
           "whole_allocation_time", "batch_step_time")  # fmt: skip
# Texts of the source are recognised whole, by their sha256; our words stand for what they say.
_SCHEDULER_IDENTITY = "bc4ab74911061f11f2f9d426941c8e7b8aae5cd08a802c04ca78bb050cafcd9a"
_NO_FINAL_STEP = "a6a1e1f6fc1333c30c0afbef1a3a4d241be802acda2a52c0deacb3743f867c0f"


@dataclass(frozen=True)
class Outcomes:
    """Records of one study's outcomes. ``allocations`` come in the order in which they ended."""

    slots: list[tuple[str, Record]]
    allocations: list[Record]
    totals: list[Record]


def read_outcomes(
    root: Root, layout: Layout, slots: Sequence[Row], commits: Mapping[str, str], margin_mib: int
) -> Outcomes:
    """Attempts and slots never launched, with the pair each belongs to; allocations; cost totals."""
    costs_path = layout.path("results/costs.json")
    costs = Document(costs_path, root.document(costs_path))
    allocations = costs.items("allocations")
    states = {item.text("pair_id"): item.text("scheduler_state") for item in allocations}
    path = layout.path("results/processes.csv")
    rows = read_table(
        root.read(path), path, columns.PROCESSES, key="experiment_id", optional=columns.PROCESSES_OPTIONAL
    )
    planned = {row.cells["experiment_id"]: row for row in slots}
    found = []
    for row in rows:
        _check_planned(row, planned, commits, layout)
        found.append((row.text("pair_id"), _slot_record(row, states, margin_mib)))
    reported = {row.cells["experiment_id"] for row in rows}
    for name in planned:
        if name not in reported:
            raise ArchiveError(f"{path}: no row for {name}, expected one for every planned slot")
    return Outcomes(
        found, [_allocation(item) for item in allocations], _totals(costs, root.sha256(costs_path))
    )


def _check_planned(row: Row, planned: Mapping[str, Row], commits: Mapping[str, str], layout: Layout) -> None:
    name = row.cells["experiment_id"]
    slot = planned.get(name)
    if slot is None:
        raise row.fail("experiment_id", name, f"a slot of {layout.path('matrix.csv')}")
    for column in ("configuration_id", "pair_id", "period", "training_seed"):
        if row.cells[column] != slot.cells[column]:
            raise row.fail(column, row.cells[column], f"{slot.cells[column]!r} as planned")
    commit, pair = row.text("expected_execution_commit"), row.cells["pair_id"]
    if commits.get(pair) != commit:
        raise row.fail(
            "expected_execution_commit", commit, f"{commits.get(pair)!r} as in the execution commits"
        )


def _slot_record(row: Row, states: Mapping[str, str], margin_mib: int) -> Record:
    state = row.one_of("state", _STATES)
    eligible, completed, launched = row.boolean("eligible"), row.boolean("completed"), row.boolean("launched")
    if eligible != (state != UNRESOLVED):
        raise row.fail(
            "state", state, f"{'one of the three labels' if eligible else UNRESOLVED}, as eligible says"
        )
    if not launched:
        if state != UNRESOLVED or completed:
            raise row.fail("launched", False, "True for a slot that has an outcome")
        return _non_launch(row)
    return _attempt(row, state, states, margin_mib)


def _errors(row: Row) -> list[str]:
    text = row.cells["validation_errors"]
    found = parse_json(text.encode(), f"{row.path} line {row.line} column validation_errors") if text else []
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise row.fail("validation_errors", text, "a JSON list of texts")
    return found


def _attempt(row: Row, state: str, states: Mapping[str, str], margin_mib: int) -> Record:
    completed = state in (Label.WITHIN_MARGIN, Label.ABOVE_MARGIN)
    peak = row.number("completed_peak_mib") if completed else None
    if completed != (row.boolean("completed") and row.boolean("eligible")):
        raise row.fail("completed", row.cells["completed"], f"what state {state} says")
    if peak is not None and exceeds_margin(peak, margin_mib) != (state == Label.ABOVE_MARGIN):
        raise row.fail("state", state, f"the state of a peak of {peak} MiB at a margin of {margin_mib} MiB")
    outcome = "completed" if completed else state
    diagnosis, reason = row.text_or_blank("failure_kind"), ""
    if outcome == UNRESOLVED:
        diagnosis, reason = unresolved_because(
            diagnosis, row.text_or_blank("failure_stage"), _errors(row), states.get(row.cells["pair_id"], "")
        )
    return Record(
        "attempt",
        {
            "slot": row.text("experiment_id"),
            "invocation_id": row.text("invocation_id"),
            "outcome": outcome,
            "origin": "declared",
            "source": row.path,
            "diagnosis": diagnosis,
            "stage": row.text_or_blank("failure_stage"),
            "reason": reason,
            "peak_mib": peak,
            "observed_peak_mib": row.number_or_none("observed_task_peak_mib"),
            "started_at": None,
            "ended_at": None,
            "elapsed_seconds": row.number_or_none("invocation_elapsed_seconds"),
            "runtime_seconds": row.number_or_none("task_runtime_seconds"),
            "task_gpu_seconds": row.number_or_none("task_gpu_seconds"),
            "reserved_gpu_seconds": row.number_or_none("invocation_reservation_gpu_seconds"),
            "task_gpu_count": row.whole("task_gpu_count"),
            "job_id": row.text_or_blank("job_id"),
            "execution_commit": row.text("expected_execution_commit"),
            "evidence": [],
            "facts": _facts(row),
        },
    )


def _non_launch(row: Row) -> Record:
    diagnosis, reason = "not_started", "never launched"
    if text_sha256(row.text_or_blank("reason")) == _SCHEDULER_IDENTITY:
        diagnosis, reason = (
            "scheduler_identity",
            "never launched: the scheduler answered with another allocation",
        )
    facts = _facts(row) | {
        name: row.number_or_none(name) for name in ("task_gpu_seconds", "invocation_reservation_gpu_seconds")
    }
    return Record(
        "non_launch",
        {"slot": row.text("experiment_id"), "diagnosis": diagnosis, "reason": reason, "facts": facts},
    )


def _facts(row: Row) -> dict[str, Any]:
    """What no field of its own holds, by the source's names."""
    names = ("allocation_gpu_count", "artifact_path", "dispatched", "durable_terminal_record_present",
             "known_margin_exceedance", "known_memory_failure", "online_status", "worker_initialization",
             "failure_kind")  # fmt: skip
    facts: dict[str, Any] = {name: row.cells[name] for name in names if row.cells[name]}
    facts["validation_errors"] = facts_form(_errors(row))
    if row.text_or_blank("reason"):
        facts["reason"] = facts_form(row.cells["reason"])
    return facts


def unresolved_because(kind: str, stage: str, errors: Sequence[str], scheduler_state: str) -> tuple[str, str]:
    """Diagnosis and our words for a launched slot that stayed unresolved.

    ``kind`` is the source's failure kind, ``scheduler_state`` what the scheduler says of the allocation.
    """
    if kind == "vllm_executor_failure" and scheduler_state == HOST_MEMORY_STATE:
        return kind, "host memory exhausted (scheduler kill)"
    if kind == "configuration":
        return kind, "set-up error before the model was loaded"
    if kind:
        return kind, f"software or infrastructure failure ({kind.replace('_', ' ')})"
    if stage == "device_preflight" and scheduler_state.startswith("CANCELLED"):
        return "interrupted", "interrupted during the device check, when its allocation was cancelled"
    if any(text_sha256(error) == _NO_FINAL_STEP for error in errors):
        return "missing_completion_evidence", "no record of the final step, although the exit was clean"
    return "unknown", "unresolved; the source names no failure kind"


def _allocation(item: Document) -> Record:
    facts = {
        key: value
        for key, value in item.values.items()
        if key not in ("pair_id", "job_id", "allocation_gpu_count", "scheduler_state",
                       "whole_allocation_gpu_seconds", "batch_step_gpu_seconds",
                       "observed_allocation_gpu_seconds")
    }  # fmt: skip
    return Record(
        "allocation",
        {
            "pair_id": item.text("pair_id"),
            "job_id": item.text("job_id"),
            "gpu_count": item.whole("allocation_gpu_count"),
            "scheduler_state": item.text("scheduler_state"),
            "started_at": epoch(item.number("scheduler_started_at_epoch", optional=True)),
            "ended_at": epoch(item.number("scheduler_ended_at_epoch", optional=True)),
            "whole_gpu_seconds": item.number("whole_allocation_gpu_seconds", optional=True),
            "batch_gpu_seconds": item.number("batch_step_gpu_seconds", optional=True),
            "observed_gpu_seconds": item.number("observed_allocation_gpu_seconds", optional=True),
            "facts": facts_form(facts),
        },
    )


def _totals(costs: Document, sha256: str) -> list[Record]:
    found = []
    for scope in _SCOPES:
        total = costs.sub(scope)
        found.append(
            Record(
                "cost_total",
                {
                    "scope": scope,
                    "known_gpu_seconds": total.number("known_gpu_seconds", optional=True),
                    "complete_total_gpu_seconds": total.number("complete_total_gpu_seconds", optional=True),
                    "known_records": total.whole("known_records", optional=True),
                    "unknown_records": total.whole("unknown_records", optional=True),
                    "source_sha256": sha256,
                },
            )
        )
    return found
