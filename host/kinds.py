"""What a file of a run directory is, by its name: uploaders choose what to send, the site what to read."""

from __future__ import annotations

import re

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("samples", re.compile(r"^(?:gpu-memory|phase-memory|gpu-telemetry)\b.*\.csv(?:\.gz)?$")),
    ("devices", re.compile(r"device[-_]?map.*\.json(?:\.gz)?$")),
    ("trial", re.compile(r"^(?:trial|environment)\b.*\.json(?:\.gz)?$")),
    ("scheduler", re.compile(r"sacct|accounting.*\.(?:psv|txt|csv)(?:\.gz)?$")),
    ("log", re.compile(r"\.(?:log|out|err)(?:\.gz)?$|^(?:dmesg|training)\b.*\.txt(?:\.gz)?$")),
)
_JOB = re.compile(r"^(?:training|trial|environment|gpu-memory|phase-memory|gpu-telemetry)-(?P<job>[\w-]+?)\.")
_PART = re.compile(r"^(?P<name>.+)\.part-(?P<number>[0-9]{1,5})-of-(?P<total>[0-9]{1,5})\.gz$")

TAIL = "tail."
"""In front of a log's name: only its end was sent."""

SACCT_FIELDS = (
    "JobID", "JobIDRaw", "JobName", "State", "ExitCode", "Start", "End", "ElapsedRaw", "AllocTRES",
    "NodeList", "Reason",
)  # fmt: skip
"""What is asked of ``sacct -P -n``, in this order."""


def kind_of(name: str) -> str | None:
    """samples, devices, trial, scheduler, log, or None. A part is what its whole file is."""
    whole = whole_of(name)
    name = whole[0] if whole else name
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), None)


def job_of(name: str) -> str:
    """The job that a file's name states; empty where it states none."""
    match = _JOB.match(name)
    return match["job"] if match else ""


def part_name(name: str, number: int, total: int) -> str:
    """How part ``number`` (from 1) of a file is called; each part is a gzip file of its own."""
    return f"{name}.part-{number:0{len(str(total))}}-of-{total}.gz"


def whole_of(name: str) -> tuple[str, int, int] | None:
    """The whole file's name, the part's number from 1, and how many there are. None: it is no part."""
    match = _PART.match(name)
    return (match["name"], int(match["number"]), int(match["total"])) if match else None
