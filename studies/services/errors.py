"""The errors that services raise for what a person asked and the rules do not allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.archive.errors import ArchiveError
from studies.estimation.errors import EstimationError


class ServiceError(Exception):
    """Something that cannot be done with what is recorded; the text says what and why, for a person."""


@dataclass(frozen=True)
class UploadProblem:
    """What is wrong with one upload: its place in the batch, the field, and a sentence."""

    index: int
    field: str
    message: str


class UploadRefused(ServiceError):
    """Some uploads can't be recorded; nothing was."""

    def __init__(self, problems: Sequence[UploadProblem]) -> None:
        super().__init__("; ".join(item.message for item in problems))
        self.problems = problems


class UploadConflict(UploadRefused):
    """Some invocation is already recorded with other content; nothing was recorded."""


UNREADABLE: tuple[type[Exception], ...] = (ServiceError, EstimationError, ArchiveError)
"""What reading a study can raise when its records state no rule, or one that is not implemented."""
