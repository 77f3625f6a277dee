"""From what an upload carries to the derived outcome: files, texts inside the record, and plain facts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from studies.evidence.completion import STUDY_STEP_PATTERN, CompletionRule
from studies.evidence.files import kind_of, read_run_directory
from studies.evidence.logs import EvidenceLine, scan_log
from studies.evidence.outcome import EXIT_STATUS, DerivedOutcome, RunEvidence, derive_outcome
from studies.evidence.samples import DevicePeak, SampledPeak, sampled_peak
from studies.evidence.scheduler import parse_sacct
from studies.models import EvidenceFile
from studies.services import evidence_store

UPLOAD = "upload"
"""Stands for a file name where the upload's own record is the evidence."""

TEXT_NAMES = {"log": "sent.log", "samples": "gpu-memory.sent.csv", "scheduler": "sacct.sent.txt"}
"""How evidence lines name a text that was sent inside the record."""

_RECORD_NAME = "trial.sent.json"

_NAMES = {"log": "log", "samples": "samples", "scheduler": "sacct"}
"""How evidence lines name a text that was sent inside the record."""

_NAMES = {
    EvidenceFile.Kind.LOG: "{}.log",
    EvidenceFile.Kind.SAMPLES: "gpu-memory.{}.csv",
    EvidenceFile.Kind.SCHEDULER: "sacct.{}.txt",
    EvidenceFile.Kind.DEVICES: "device_map.{}.json",
    EvidenceFile.Kind.TRIAL: "trial.{}.json",
}


@dataclass(frozen=True)
class UploadedFile:
    """A stored file of an upload: its name, what it is, and its bytes by sha256."""

    name: str
    kind: str
    sha256: str


@dataclass(frozen=True)
class Observed:
    """What an upload says was observed.

    ``texts`` by kind: ``log``, ``samples``, ``scheduler``. ``device_peaks_mib`` are MiB by device, where
    the samples themselves were not sent. ``other_processes`` are foreign processes seen on the devices.
    """

    exit_code: int | None = None
    exit_signal: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    steps: int | None = None
    job_id: str = ""
    texts: Mapping[str, str] | None = None
    device_peaks_mib: Mapping[str, float] | None = None
    other_processes: Sequence[str] = ()
    claimed: str = ""
    files: Sequence[UploadedFile] = ()


def file_kind(name: str) -> str:
    """What a file is, by its name; ``other`` when the name does not say."""
    return kind_of(name) or str(EvidenceFile.Kind.OTHER)


def name_for_kind(name: str, kind: str) -> str:
    """``name``, changed if it must be so that it says what the file is."""
    if kind == EvidenceFile.Kind.OTHER or kind_of(name) == kind:
        return name
    return _NAMES[EvidenceFile.Kind(kind)].format(name)


def completion_rule(protocol: Mapping[str, Any] | None, planned_steps: int | None) -> CompletionRule:
    """The rule for one invocation: the planned number of steps, and the protocol's pattern of a step's record.

    A protocol without the key ``completion_pattern`` means the study's own trainer.
    """
    pattern = (protocol or {}).get("completion_pattern")
    return CompletionRule(planned_steps, pattern if isinstance(pattern, str) else STUDY_STEP_PATTERN)


def derive(observed: Observed, rule: CompletionRule) -> DerivedOutcome:
    """The outcome of an upload.

    Raises ``EvidenceError`` for files of several jobs.
    """
    texts = observed.texts or {}
    if observed.files or texts.get("scheduler"):
        evidence = _as_directory(observed, rule)
    else:
        logs = [scan_log([text.encode("utf-8", "replace")], TEXT_NAMES["log"], rule)] if (text := texts.get("log")) else []
        evidence = RunEvidence(
            logs=tuple(logs), peak=_sampled(observed), steps=observed.steps, claimed_kind=observed.claimed
        )
    if evidence.peak is None and observed.device_peaks_mib:
        evidence = replace(evidence, peak=_stated_peaks(observed.device_peaks_mib))
    if observed.other_processes:
        seen = tuple(EvidenceLine(UPLOAD, None, text) for text in observed.other_processes)
        evidence = replace(evidence, contamination=seen)
    if observed.exit_code is not None or observed.exit_signal is not None:
        # The record itself goes before what a file says of the exit status.
        evidence = replace(
            evidence, exit_code=observed.exit_code, signal=observed.exit_signal, exit_source=EXIT_STATUS
        )
    return derive_outcome(evidence, rule)


def _as_directory(observed: Observed, rule: CompletionRule) -> RunEvidence:
    """The files, the texts and the record itself as a run directory, so that one reader serves all."""
    record = {
        "started_at": observed.started_at.isoformat() if observed.started_at else None,
        "ended_at": observed.ended_at.isoformat() if observed.ended_at else None,
        "steps": observed.steps,
        "job_id": observed.job_id,
        "failure_kind": observed.claimed or None,
    }
    with tempfile.TemporaryDirectory(prefix="evidence-") as name:
        folder = Path(name)
        for item in observed.files:
            if item.kind != EvidenceFile.Kind.OTHER:
                evidence_store.copy_to(item.sha256, folder / item.name)
        for kind, text in (observed.texts or {}).items():
            (folder / TEXT_NAMES[kind]).write_bytes(text.encode("utf-8", "replace"))
        (folder / _RECORD_NAME).write_text(json.dumps(record))
        return read_run_directory(folder, rule)


def _sampled(observed: Observed) -> SampledPeak | None:
    text = (observed.texts or {}).get("samples")
    if not text:
        return None
    return sampled_peak(
        [(TEXT_NAMES["samples"], text.splitlines())],
        started_ns=_nanoseconds(observed.started_at),
        ended_ns=_nanoseconds(observed.ended_at),
    )


def _stated_peaks(peaks: Mapping[str, float]) -> SampledPeak:
    devices = tuple(DevicePeak(device, mib, 0) for device, mib in sorted(peaks.items()))
    return SampledPeak(devices, 0, None, None, ("peaks were sent without their samples",))


def _nanoseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1e9)
