"""What the parts of a job hand to each other, and the name of the task that a message carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TASK = "jobs.run"


@dataclass(frozen=True)
class Claim:
    """The right to work on a job, as long as nobody else has claimed it since."""

    job_id: int
    fence: int


@dataclass(frozen=True)
class Progress:
    """How far a job is: ``done`` of ``total`` steps, a sentence for a person, and the end of its log."""

    done: int = 0
    total: int = 0
    sentence: str = ""
    log: str = ""


@dataclass(frozen=True)
class JobOutput:
    """What a job produced."""

    sentence: str
    links: list[dict[str, str]]
    document: dict[str, Any]
