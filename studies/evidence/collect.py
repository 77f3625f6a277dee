"""Puts the files of one invocation together, wherever they lie: a directory, an upload, a storage.

A file is a name and a way to open its bytes. What a file is follows from its name; what can't be read in it
is reported and never raises, except beyond a limit.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO

from host.kinds import job_of, kind_of
from rlvram_site.strict_json import JsonError
from studies.evidence.completion import CompletionRule
from studies.evidence.devices import parse_device_map
from studies.evidence.documents import read_document
from studies.evidence.errors import EvidenceError
from studies.evidence.findings import EvidenceLine, LogFindings
from studies.evidence.logs import scan_log
from studies.evidence.outcome import EXIT_STATUS, RunEvidence
from studies.evidence.samples import sampled_peak
from studies.evidence.scheduler import SchedulerRow, parse_sacct
from studies.evidence.trial import TrialRecord, parse_trial
from studies.evidence.unpacking import line_blocks, text_lines, unpacked_chunks

LONGEST_NAME = 1000
"""Characters of a file's name that are looked at."""


@dataclass(frozen=True)
class RunFile:
    """One file: its name without folders, and a function that opens its bytes from the start.

    `open` may be called more than once.
    """

    name: str
    open: Callable[[], IO[bytes]]

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> RunFile:
        """A file whose bytes are at hand."""
        return cls(name, lambda: io.BytesIO(data))


def collect_log(
    file: RunFile, completion: CompletionRule | None = None, *, exit_code: int | None = None
) -> RunEvidence:
    """The evidence of a single log, plain or gzip, read as a stream."""
    problems: list[str] = []
    findings = _scan(file, completion, problems)
    return RunEvidence(logs=(findings,), exit_code=exit_code, problems=tuple(problems))


def collect_run(
    entries: Iterable[RunFile],
    completion: CompletionRule | None = None,
    *,
    exit_code: int | None = None,
    job: str | None = None,
    where: str = "run",
) -> RunEvidence:
    """The evidence in the files that one invocation left behind.

    Args:
        entries: the files; those of an unknown kind are passed over.
        completion: what the protocol requires of the log.
        exit_code: goes before the one that the launcher recorded.
        job: reads only the files of this job, where there are several.
        where: names the files together in an error.

    Raises:
        EvidenceError: nothing that could be evidence, files of several jobs and none chosen, or a file beyond
            one of the limits on what it may unpack to or hold.
    """
    files = _by_kind(entries, job, where)
    problems: list[str] = []
    trial, trial_file, limit = _trial(files.get("trial", []), problems)
    this_job = job or trial.job_id or _job_of(files)
    rows, scheduler_file = _scheduler(files.get("scheduler", []), this_job, problems)
    columns = _device_map(files.get("devices", []), problems)
    required = completion or CompletionRule()
    if required.steps is None and trial.steps is not None:
        # Of very many records a log keeps the largest, and the one that it knows to be required.
        required = replace(required, steps=trial.steps)
    logs = tuple(_scan(log, required, problems) for log in files.get("log", []))
    samples = files.get("samples", [])
    peak = sampled_peak(
        [(item.name, line_blocks(_chunks(item, problems), item.name, problems)) for item in samples],
        devices=columns,
        started_ns=trial.started_ns,
        ended_ns=trial.ended_ns,
    )
    evidence = RunEvidence(
        logs=logs,
        peak=peak if samples else None,
        exit_code=trial.exit_code,
        signal=trial.signal,
        exit_source=trial_file or EXIT_STATUS,
        steps=trial.steps,
        scheduler=rows,
        scheduler_file=scheduler_file,
        contamination=tuple(EvidenceLine(trial_file, None, text) for text in trial.foreign_processes),
        launcher_limit=limit,
        problems=tuple(problems),
        claimed_kind=trial.claimed_kind,
    )
    if exit_code is not None:
        return replace(evidence, exit_code=exit_code, signal=None, exit_source=EXIT_STATUS)
    if evidence.exit_code is None:
        return _with_scheduler_status(evidence)
    return evidence


def _by_kind(entries: Iterable[RunFile], job: str | None, where: str) -> dict[str, list[RunFile]]:
    found: dict[str, list[RunFile]] = {}
    jobs: set[str] = set()
    names: list[str] = []
    for item in sorted(entries, key=lambda item: (not item.name.startswith("training"), item.name)):
        names.append(item.name)
        kind = kind_of(item.name)
        if kind is None:
            continue
        named = job_of(item.name)
        if named and job and named != job:
            continue
        if named:
            jobs.add(named)
        found.setdefault(kind, []).append(item)
    if len(jobs) > 1:
        expected = "the files of one job; choose which with the job's name"
        raise EvidenceError(where, "jobs", sorted(jobs), expected)
    if not found:
        wanted = "training-JOB.log, gpu-memory-JOB.csv, trial-JOB.json, sacct records or the like"
        raise EvidenceError(where, "files", names[:10], wanted)
    return found


def _job_of(files: dict[str, list[RunFile]]) -> str:
    names = (item.name for group in files.values() for item in group)
    return next((job for name in names if (job := job_of(name))), "")


def _chunks(file: RunFile, problems: list[str]) -> Iterator[bytes]:
    """The file's bytes in chunks, unpacked within limits."""
    with file.open() as stream:
        yield from unpacked_chunks(stream, file.name, problems)


def _scan(file: RunFile, completion: CompletionRule | None, problems: list[str]) -> LogFindings:
    return scan_log(_chunks(file, problems), file.name, completion)


def _text_lines(file: RunFile, problems: list[str]) -> Iterator[str]:
    return text_lines(_chunks(file, problems), file.name, problems)


def _json(file: RunFile, problems: list[str]) -> object:
    """The file's document; None if it holds none that can be read, which is reported.

    Raises:
        EvidenceError: it is larger than a document may be.
    """
    try:
        return read_document(_chunks(file, problems), file.name)
    except JsonError as error:
        problems.append(f"{file.name}: no JSON ({error})")
        return None


def _trial(files: list[RunFile], problems: list[str]) -> tuple[TrialRecord, str, EvidenceLine | None]:
    """What the launcher recorded; of several files the trial's own goes first."""
    merged, source, limit = TrialRecord(), "", None
    for file in sorted(files, key=lambda file: (not file.name.startswith("trial"), file.name)):
        document = _json(file, problems)
        if document is None:
            continue
        record, found = parse_trial(document, file.name)
        problems.extend(found)
        source = source or file.name
        if record.timed_out and limit is None:
            limit = EvidenceLine(file.name, None, "the launcher ended the run at its limit (timed_out)")
        unset = {
            name: value
            for name, value in vars(record).items()
            # An exit code of 0 is a statement, although it equals False.
            if (known := getattr(merged, name)) is None or known is False or known in ("", ())
        }
        merged = replace(merged, **unset)
    return merged, source, limit


def _scheduler(files: list[RunFile], job: str, problems: list[str]) -> tuple[tuple[SchedulerRow, ...], str]:
    for file in files:
        rows, found = parse_sacct(_text_lines(file, problems), file.name)
        problems.extend(found)
        mine = tuple(row for row in rows if row.belongs_to(job)) if job else rows
        # The number of an array is also the plain number of one of its elements.
        mine = tuple(row for row in mine if job in (row.job_id, row.raw_id)) or mine
        if len({row.raw_id or row.job_id for row in mine}) > 1:
            problems.append(f"{file.name}: rows of several jobs, and nothing says which is this one")
            continue
        if mine:
            return mine, file.name
        if rows:
            problems.append(f"{file.name}: no row of job {job}")
    return (), "sacct"


def _with_scheduler_status(evidence: RunEvidence) -> RunEvidence:
    """The job's exit code from accounting, where nobody recorded the invocation's own."""
    row = next((row for row in evidence.scheduler if not row.step and row.exit_code is not None), None)
    if row is None:
        return evidence
    if row.signal:
        return replace(evidence, signal=row.signal, exit_source=evidence.scheduler_file)
    if row.exit_code == 0 and row.state != "COMPLETED":
        return evidence
    return replace(evidence, exit_code=row.exit_code, exit_source=evidence.scheduler_file)


def _device_map(files: list[RunFile], problems: list[str]) -> dict[int, str] | None:
    for file in files:
        document = _json(file, problems)
        if document is None:
            continue
        try:
            return parse_device_map(document, file.name)
        except EvidenceError as error:
            problems.append(str(error))
    return None
