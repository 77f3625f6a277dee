"""What the launcher recorded of an invocation: `trial-JOB.json` and `environment-JOB.json`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

_EXIT_CODE = ("exit_code", "exit_status", "returncode", "return_code")
_SIGNAL = ("signal", "term_signal", "exit_signal")
_START = ("started_at_utc", "started_at", "start_time", "start", "started_ns", "start_ns")
_END = ("ended_at_utc", "ended_at", "end_time", "end", "ended_ns", "end_ns")
_STEPS = ("requested_steps", "total_training_steps", "training_steps", "horizon", "steps")
_JOB = ("job_id", "slurm_job_id")
_FOREIGN = ("foreign_processes", "other_processes", "unexpected_processes", "contaminating_processes")
_CONTAMINATED = ("contaminated", "contamination_detected", "contamination")
_CLAIMED = ("failure_kind", "diagnosis")
_SECTIONS = ("trial", "process", "result", "run", "environment", "invocation")


@dataclass(frozen=True)
class TrialRecord:
    """The launcher's own record. What it does not state is None, empty or False.

    Attributes:
        exit_code: as the operating system gave it; negative where Python reports a signal.
        signal: number of the signal that ended it.
        started_ns, ended_ns: nanoseconds since the epoch; None for a time without a zone.
        steps: training steps asked for.
        job_id: the scheduler's.
        foreign_processes: processes of others seen on the task's devices, in words.
        timed_out: the launcher ended the run at its own limit.
        claimed_kind: the uploader's own diagnosis.
    """

    exit_code: int | None = None
    signal: int | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    steps: int | None = None
    job_id: str = ""
    foreign_processes: tuple[str, ...] = ()
    timed_out: bool = False
    claimed_kind: str = ""


def parse_trial(document: object, file: str) -> tuple[TrialRecord, tuple[str, ...]]:
    """The record in a JSON document, and what in it could not be read, by field."""
    problems: list[str] = []
    if not isinstance(document, Mapping):
        return TrialRecord(), (f"{file}: expected an object, found {type(document).__name__}",)
    fields: dict[str, object] = {}
    for section in (*(document.get(name) for name in _SECTIONS), document):
        if isinstance(section, Mapping):
            fields.update({str(key): value for key, value in section.items()})

    def whole(names: tuple[str, ...]) -> int | None:
        for name in names:
            value = fields.get(name)
            if value is None or isinstance(value, Mapping):
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                problems.append(f"{file}: {name} is {value!r}, expected a whole number")
                return None
            return value
        return None

    def moment(names: tuple[str, ...]) -> int | None:
        for name in names:
            value = fields.get(name)
            if value is not None and not isinstance(value, Mapping):
                nanoseconds = _nanoseconds(value)
                if nanoseconds is None:
                    problems.append(f"{file}: {name} is {value!r}, expected a time with its zone")
                return nanoseconds
        return None

    steps = whole(_STEPS)
    if steps is not None and steps < 1:
        problems.append(f"{file}: steps is {steps}, expected a whole number from 1")
        steps = None
    record = TrialRecord(
        exit_code=whole(_EXIT_CODE),
        signal=whole(_SIGNAL),
        started_ns=moment(_START),
        ended_ns=moment(_END),
        steps=steps,
        job_id=next((str(fields[name]) for name in _JOB if fields.get(name)), ""),
        foreign_processes=_foreign(fields),
        timed_out=fields.get("timed_out") is True,
        claimed_kind=next((str(fields[name]) for name in _CLAIMED if isinstance(fields.get(name), str)), ""),
    )
    return record, tuple(problems)


def _foreign(fields: Mapping[str, object]) -> tuple[str, ...]:
    for name in _FOREIGN:
        entries = fields.get(name)
        if isinstance(entries, list) and entries:
            return tuple(_in_words(entry) for entry in entries)
    for name in _CONTAMINATED:
        value = fields.get(name)
        if value is True or (isinstance(value, str | list) and value):
            return (f"{name}: {value if isinstance(value, str) else 'yes'}",)
    return ()


def _in_words(entry: object) -> str:
    if isinstance(entry, Mapping):
        return ", ".join(f"{key} {value}" for key, value in entry.items())
    return str(entry)


def _nanoseconds(value: object) -> int | None:
    """Nanoseconds since the epoch, from a text with a zone, from seconds, or from nanoseconds."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        if not math.isfinite(value) or value < 0:
            return None
        # Seconds since the epoch stay below 10^11 for three thousand years; nanoseconds passed it in 1970.
        return int(value) if value > 1e11 else int(value * 1e9)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return int(moment.timestamp() * 1e9) if moment.tzinfo else None
    return None
