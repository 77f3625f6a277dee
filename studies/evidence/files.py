"""The thin part that touches the disk: one log, or the directory that an invocation left behind."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

from studies.evidence.completion import CompletionRule
from studies.evidence.devices import parse_device_map
from studies.evidence.errors import EvidenceError
from studies.evidence.logs import EvidenceLine, LogFindings, scan_log
from studies.evidence.outcome import EXIT_STATUS, RunEvidence
from studies.evidence.samples import sampled_peak
from studies.evidence.scheduler import SchedulerRow, parse_sacct
from studies.evidence.trial import TrialRecord, parse_trial

CHUNK_BYTES = 1 << 20

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("samples", re.compile(r"^(?:gpu-memory|phase-memory|gpu-telemetry)\b.*\.csv(?:\.gz)?$")),
    ("devices", re.compile(r"device[-_]?map.*\.json$")),
    ("trial", re.compile(r"^(?:trial|environment)\b.*\.json$")),
    ("scheduler", re.compile(r"sacct|accounting.*\.(?:psv|txt|csv)$")),
    ("log", re.compile(r"\.(?:log|out|err)(?:\.gz)?$|^(?:dmesg|training)\b.*\.txt(?:\.gz)?$")),
)
_TRAINING_JOB = re.compile(r"^(?:training|trial|gpu-memory|phase-memory|gpu-telemetry)-(?P<job>[\w-]+?)\.")


def kind_of(name: str) -> str | None:
    """What a file of a run directory is, by its name: samples, devices, trial, scheduler, log, or None."""
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), None)


def read_log(
    path: Path,
    completion: CompletionRule | None = None,
    *,
    exit_code: int | None = None,
) -> RunEvidence:
    """The evidence of a single log file, plain or gzip, read as a stream.

    Raises:
        EvidenceError: the file does not exist, is a directory, or can't be read.
    """
    problems: list[str] = []
    findings = _scan(path, completion, problems)
    return RunEvidence(logs=(findings,), exit_code=exit_code, problems=tuple(problems))


def read_run_directory(
    path: Path,
    completion: CompletionRule | None = None,
    *,
    exit_code: int | None = None,
    job: str | None = None,
) -> RunEvidence:
    """The evidence in a directory as the study's hosts leave it. Subdirectories are not entered.

    Args:
        path: the directory.
        completion: what the protocol requires of the log.
        exit_code: goes before the one that the launcher recorded.
        job: reads only the files of this job, where the directory holds several.

    Raises:
        EvidenceError: no such directory, nothing in it that could be evidence, or files of several jobs
            and none chosen.
    """
    files = _files(path, job)
    problems: list[str] = []
    trial, trial_file, limit = _trial(files.get("trial", []), problems)
    this_job = job or trial.job_id or _job_of(files)
    rows, scheduler_file = _scheduler(files.get("scheduler", []), this_job, problems)
    columns = _device_map(files.get("devices", []), problems)
    logs = tuple(_scan(log, completion, problems) for log in files.get("log", []))
    samples = files.get("samples", [])
    peak = sampled_peak(
        [(item.name, _text_lines(item, problems)) for item in samples],
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


def read_evidence(
    path: Path,
    completion: CompletionRule | None = None,
    *,
    exit_code: int | None = None,
    job: str | None = None,
) -> RunEvidence:
    """The evidence of a log file or of a run directory, whichever `path` is."""
    if path.is_dir():
        return read_run_directory(path, completion, exit_code=exit_code, job=job)
    return read_log(path, completion, exit_code=exit_code)


def _files(path: Path, job: str | None) -> dict[str, list[Path]]:
    if not path.is_dir():
        raise EvidenceError(str(path), "path", str(path), "an existing directory")
    found: dict[str, list[Path]] = {}
    jobs: set[str] = set()
    for item in sorted(path.iterdir(), key=lambda item: (not item.name.startswith("training"), item.name)):
        kind = kind_of(item.name) if item.is_file() else None
        if kind is None:
            continue
        named = _TRAINING_JOB.match(item.name)
        if named and job and named["job"] != job:
            continue
        if named:
            jobs.add(named["job"])
        found.setdefault(kind, []).append(item)
    if len(jobs) > 1:
        raise EvidenceError(
            str(path), "jobs", sorted(jobs), "the files of one job; choose which with the job's name"
        )
    if not found:
        wanted = "training-JOB.log, gpu-memory-JOB.csv, trial-JOB.json, sacct records or the like"
        raise EvidenceError(str(path), "files", sorted(item.name for item in path.iterdir())[:10], wanted)
    return found


def _job_of(files: dict[str, list[Path]]) -> str:
    names = (item.name for group in files.values() for item in group)
    return next((match["job"] for name in names if (match := _TRAINING_JOB.match(name))), "")


def _open(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if it is gzip, whatever its name says."""
    try:
        stream = path.open("rb")
    except FileNotFoundError as error:
        raise EvidenceError(str(path), "path", str(path), "an existing file or directory") from error
    except OSError as error:
        raise EvidenceError(str(path), "path", str(path), f"a readable file ({error.strerror})") from error
    magic = stream.read(2)
    if magic == b"\x1f\x8b":
        stream.close()
        return cast("IO[bytes]", gzip.open(path, "rb"))
    stream.seek(0)
    return stream


def _chunks(path: Path, problems: list[str]) -> Iterator[bytes]:
    """The file's bytes in chunks. A gzip file that was cut ends where its readable part ends."""
    with _open(path) as stream:
        while True:
            try:
                # read1 gives back what could be unpacked before the cut; read would drop it.
                chunk = cast("io.BufferedReader", stream).read1(CHUNK_BYTES)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                problems.append(f"{path.name}: the packed file is damaged or cut ({error})")
                return
            if not chunk:
                return
            yield chunk


def _scan(path: Path, completion: CompletionRule | None, problems: list[str]) -> LogFindings:
    return scan_log(_chunks(path, problems), path.name, completion)


def _text_lines(path: Path, problems: list[str]) -> Iterator[str]:
    rest = b""
    for chunk in _chunks(path, problems):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


def _json(path: Path, problems: list[str]) -> object:
    try:
        with _open(path) as stream:
            return json.loads(stream.read().decode("utf-8-sig"))
    except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
        problems.append(f"{path.name}: no JSON ({error})")
        return None


def _trial(paths: list[Path], problems: list[str]) -> tuple[TrialRecord, str, EvidenceLine | None]:
    """What the launcher recorded; of several files the trial's own goes first."""
    merged, source, limit = TrialRecord(), "", None
    for path in sorted(paths, key=lambda path: (not path.name.startswith("trial"), path.name)):
        document = _json(path, problems)
        if document is None:
            continue
        record, found = parse_trial(document, path.name)
        problems.extend(found)
        source = source or path.name
        if record.timed_out and limit is None:
            limit = EvidenceLine(path.name, None, "the launcher ended the run at its limit (timed_out)")
        unset = {
            name: value
            for name, value in vars(record).items()
            if getattr(merged, name) in (None, "", (), False)
        }
        merged = replace(merged, **unset)
    return merged, source, limit


def _scheduler(
    paths: list[Path], job: str, problems: list[str]
) -> tuple[tuple[SchedulerRow, ...], str]:
    for path in paths:
        rows, found = parse_sacct(_text_lines(path, problems), path.name)
        problems.extend(found)
        mine = tuple(row for row in rows if row.belongs_to(job)) if job else rows
        # The number of an array is also the plain number of one of its elements.
        mine = tuple(row for row in mine if job in (row.job_id, row.raw_id)) or mine
        if len({row.raw_id or row.job_id for row in mine}) > 1:
            problems.append(f"{path.name}: rows of several jobs, and nothing says which is this one")
            continue
        if mine:
            return mine, path.name
        if rows:
            problems.append(f"{path.name}: no row of job {job}")
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


def _device_map(paths: list[Path], problems: list[str]) -> dict[int, str] | None:
    for path in paths:
        document = _json(path, problems)
        if document is None:
            continue
        try:
            return parse_device_map(document, path.name)
        except EvidenceError as error:
            problems.append(str(error))
    return None
