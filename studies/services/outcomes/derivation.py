"""From what an upload carries to the derived outcome: files, texts inside the record, and plain facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from prometheus_client import Histogram

from host.kinds import kind_of
from studies.evidence import collect
from studies.evidence.completion import STUDY_STEP_PATTERN, CompletionRule
from studies.evidence.derived import Stated, derived_data
from studies.models import EvidenceFile
from studies.services.outcomes.derivation_apart import derive_apart, holds_more_than
from studies.services.outcomes.evidence_parts import whole_files

SECONDS = Histogram(
    "rlvram_derivation_seconds", "Time that reading one upload took", ["process"],
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300),
)  # fmt: skip

TEXT_NAMES = {"log": "sent.log", "samples": "gpu-memory.sent.csv", "scheduler": "sacct.sent.txt"}
"""How evidence lines name a text that was sent inside the record."""

RECORD_NAME = "trial.sent.json"
RESERVED_NAMES = frozenset({*TEXT_NAMES.values(), RECORD_NAME})
"""No uploaded file may be called so."""

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
    """The rule for one invocation: the planned number of steps, and the pattern of a step's record.

    A protocol without the key ``completion_pattern`` means the study's own trainer.
    """
    pattern = (protocol or {}).get("completion_pattern")
    return CompletionRule(planned_steps, pattern if isinstance(pattern, str) else STUDY_STEP_PATTERN)


def derive(observed: Observed, rule: CompletionRule) -> dict[str, Any]:
    """The outcome of an upload, as ``studies.evidence.report.as_data`` gives it.

    What is large is read in a process of its own, with limits. Raises ``EvidenceError`` for files of several
    jobs, ``DerivationStopped`` for what can't be read within those limits, ``EvidenceUnavailable``.
    """
    files = list(_entries(observed))
    stated = Stated(
        observed.exit_code, observed.exit_signal, observed.device_peaks_mib, tuple(observed.other_processes)
    )
    apart = holds_more_than(files, settings.DERIVATION_AT_ONCE_BYTES)
    with SECONDS.labels("apart" if apart else "same").time():
        return (derive_apart if apart else derived_data)(files, rule, stated)


def _entries(observed: Observed) -> Iterator[collect.RunFile]:
    """Files, texts and the record itself as one run's files, so that one reader serves all."""
    known = [item for item in observed.files if item.kind != EvidenceFile.Kind.OTHER]
    for file in whole_files((item.name, item.sha256) for item in known):
        yield collect.RunFile(file.name, file.open)
    for kind, text in (observed.texts or {}).items():
        yield collect.RunFile.of_bytes(TEXT_NAMES[kind], text.encode("utf-8", "replace"))
    record = {
        "started_at": observed.started_at.isoformat() if observed.started_at else None,
        "ended_at": observed.ended_at.isoformat() if observed.ended_at else None,
        "steps": observed.steps,
        "job_id": observed.job_id,
        "failure_kind": observed.claimed or None,
    }
    yield collect.RunFile.of_bytes(RECORD_NAME, json.dumps(record).encode())
