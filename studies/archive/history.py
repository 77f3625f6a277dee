"""The execution history, read into events with our own words built from its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from studies.archive.documents import Document
from studies.archive.facts import facts_form
from studies.archive.records import Record

_PROSE_FREE_STATUS = ("completed", "failed", "cancelled")


@dataclass(frozen=True)
class Happening:
    """An event and the latest time that its source states for it; None where it states none."""

    at: str | None
    record: Record


def read_events(history: Document) -> list[Happening]:
    """All events in the source's order. Repairs, which sources mention inside others, stand alone."""
    events: list[tuple[Document, str]] = []
    if "events" in history.values:
        events = [(item, item.text("kind")) for item in history.items("events")]
    for key in ("preflight", "study_array"):
        if key in history.values:
            events.append((history.sub(key), key))
    drafts = [draft for item, kind in events for draft in _drafts(item, kind)]
    if "runtime_change" in history.values:
        drafts.insert(0, _change(history))
    if "final_outcomes" in history.values:
        drafts.append(_closing(history.sub("final_outcomes")))
    return [_happening(draft, position) for position, draft in enumerate(drafts)]


def preflight_total(history: Document) -> dict[str, Any] | None:
    """GPU-seconds of what trained nothing: devices times elapsed seconds of preflights and diagnostics."""
    seconds = [
        event.record.fields["gpu_seconds"]
        for event in read_events(history)
        if event.record.fields["facts"].get("training_launched") is False
    ]
    if not seconds:
        return None
    known = [value for value in seconds if value is not None]
    return {
        "scope": "preflight",
        "known_gpu_seconds": float(sum(known)),
        "complete_total_gpu_seconds": float(sum(known)) if len(known) == len(seconds) else None,
        "known_records": len(known),
        "unknown_records": len(seconds) - len(known),
    }


def _happening(draft: dict[str, Any], position: int) -> Happening:
    fields = {"position": position, **draft}
    at = fields["ended_at"] or fields["started_at"]
    return Happening(at, Record("event", fields))


def _draft(item: Document, kind: str, status: str, title: str, detail: str, **times: Any) -> dict[str, Any]:
    elapsed, devices = (
        item.number("elapsed_seconds", optional=True),
        item.whole("allocated_gpus", optional=True),
    )
    job = item.text("job_id", optional=True) or item.text("array_job_id", optional=True)
    return {
        "kind": kind,
        "status": status,
        "title": title,
        "detail": detail,
        "job_id": job,
        "source_commit": item.text("source_commit", optional=True),
        "started_at": times.get("started_at"),
        "ended_at": times.get("ended_at"),
        "gpu_seconds": float(elapsed * devices) if elapsed is not None and devices is not None else None,
        "facts": facts_form(item.values),
    }


def _drafts(item: Document, kind: str) -> Iterator[dict[str, Any]]:
    yield _TEXTS.get(kind, _other)(item, kind)
    if "repair_scope" in item.values:
        yield _repair(item)


def _span(item: Document) -> dict[str, Any]:
    started = item.moment("started_at_utc", optional=True) or item.moment(
        "first_started_at_utc", optional=True
    )
    ended = item.moment("ended_at_utc", optional=True) or item.moment("last_ended_at_utc", optional=True)
    return {"started_at": started, "ended_at": ended or item.moment("cancelled_at_utc", optional=True)}


def _preflight(item: Document, kind: str) -> dict[str, Any]:
    status = _status(item)
    elapsed, devices = (
        item.number("elapsed_seconds", optional=True),
        item.whole("allocated_gpus", optional=True),
    )
    what = "Preflight without training" if kind != "read_only_device_diagnostic" else "Device diagnostic"
    job = item.text("job_id", optional=True)
    detail = f"Job {job} held {devices} devices for {elapsed} s. Nothing was trained."
    return _draft(item, kind, status, f"{what} {status}", detail, **_span(item))


def _array(item: Document, kind: str) -> dict[str, Any]:
    requested = item.sequence("requested_pair_indices", optional=True)
    job = item.text("array_job_id")
    if "started_pair_indices" in item.values:
        started = len(item.sequence("started_pair_indices"))
        status = "cancelled"
        title = f"Array of {len(requested)} pairs cancelled, {started or 'none'} had started"
        rest = len(requested) - started
        detail = f"Array {job}: {started} of {len(requested)} pairs started, the other {rest} did not."
    else:
        status = _status(item)
        title = f"Array of {len(requested)} pairs {status}"
        limit = item.whole("maximum_concurrency", optional=True)
        detail = f"Array {job} ran {len(requested)} pairs" + (
            f", at most {limit} at a time." if limit else "."
        )
        if item.get("retry_or_replacement", bool, "true or false", optional=True) is False or (
            item.whole("retries", optional=True) == 0
        ):
            detail += " Nothing was repeated or replaced."
    return _draft(item, kind, status, title, detail, **_span(item))


def _host_kills(item: Document, kind: str) -> dict[str, Any]:
    jobs = item.items("confirmed_jobs")
    limit = item.whole("host_memory_limit_mib", optional=True)
    lines = [
        f"job {job.text('job_id')} on {job.text('node', optional=True) or 'an unnamed node'}, "
        f"{job.whole('scheduler_oom_kill_events', optional=True)} kills"
        for job in jobs
    ]
    detail = (
        f"The scheduler killed workers at the host limit of {limit:,} MiB: {'; '.join(lines)}."
        if limit
        else ""
    )
    return _draft(
        item, kind, "noted", f"Host memory killed {len(jobs)} jobs", detail,
        ended_at=item.moment("observed_at_utc", optional=True),
    )  # fmt: skip


def _repair(item: Document) -> dict[str, Any]:
    never = len(item.sequence("never_started_pair_indices", optional=True))
    draft = _draft(
        item, "runtime_repair", "noted", "Runtime repaired",
        f"The code that runs a pair was repaired after array {item.text('array_job_id', optional=True)}; "
        f"what was planned and predicted stayed. Only the {never} pairs that nobody had claimed could start.",
        started_at=_span(item)["ended_at"],
    )  # fmt: skip
    return draft | {"facts": {"repair_scope": facts_form(item.values["repair_scope"])}, "source_commit": "",
                    "gpu_seconds": None}  # fmt: skip


def _change(history: Document) -> dict[str, Any]:
    commit = history.text("source_commit", optional=True)
    draft = _draft(
        history, "runtime_repair", "noted", "Runtime changed before the launch",
        "An allocation's own record is now looked up exactly; the slots that the old look-up had kept from "
        "starting were not run again.",
    )  # fmt: skip
    facts = {"runtime_change": facts_form(history.values["runtime_change"])}
    return draft | {"facts": facts, "source_commit": commit}


def _closing(outcomes: Document) -> dict[str, Any]:
    planned, launched = outcomes.whole("planned_slots"), outcomes.whole("launched_invocations")
    resolved, unresolved = (
        outcomes.whole("resolved_configurations"),
        outcomes.whole("unresolved_configurations"),
    )
    assert resolved is not None
    assert unresolved is not None
    return _draft(
        outcomes, "panel_closed", "completed", f"Panel closed: {launched} of {planned} slots launched",
        f"The source counts {resolved} of {resolved + unresolved} configurations as resolved.",
    )  # fmt: skip


def _other(item: Document, kind: str) -> dict[str, Any]:
    words = kind.replace("_", " ")
    return _draft(item, kind, _status(item), words[:1].upper() + words[1:], "", **_span(item))


def _status(item: Document) -> str:
    stated = item.text("status", optional=True)
    for word in _PROSE_FREE_STATUS:
        if stated.startswith(word):
            return word
    return "completed" if stated.startswith("complete") else "noted"


_TEXTS: dict[str, Callable[[Document, str], dict[str, Any]]] = {
    "zero_training_preflight": _preflight,
    "expanded_zero_training_preflight": _preflight,
    "corrected_import_context_zero_training_preflight": _preflight,
    "read_only_device_diagnostic": _preflight,
    "preflight": _preflight,
    "study_array": _array,
    "remaining_study_array": _array,
    "host_memory_censoring_diagnostic": _host_kills,
}


def in_time_order(
    events: Sequence[Happening], slots: Sequence[tuple[str, Record]], allocations: Sequence[Record]
) -> list[Record]:
    """Events, allocations and slot records in the order in which their times were stated.

    A slot's record takes the end of its pair's allocation; what states no time stays behind what stands
    before it in its source.
    """
    ends = {item.fields["pair_id"]: item.fields["ended_at"] for item in allocations}
    timed: list[tuple[str, int, Record]] = []
    for group, items in enumerate(
        (
            [(item.fields["ended_at"], item) for item in allocations],
            [(ends.get(pair), record) for pair, record in slots],
            [(item.at, item.record) for item in events],
        )
    ):
        last = ""
        for at, record in items:
            last = max(last, at) if at else last
            timed.append((last, group, record))
    return [record for _, _, record in sorted(timed, key=lambda entry: entry[:2])]
