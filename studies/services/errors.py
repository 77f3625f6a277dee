"""The error that services raise for what a person asked and the rules do not allow."""

from __future__ import annotations

from studies.archive.errors import ArchiveError
from studies.estimation.errors import EstimationError


class ServiceError(Exception):
    """Something that cannot be done with what is recorded; the text says what and why, for a person."""


UNREADABLE: tuple[type[Exception], ...] = (ServiceError, EstimationError, ArchiveError)
"""What reading a study can raise when its records state no rule, or one that is not implemented."""
