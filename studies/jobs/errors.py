"""Why a job is refused or stops."""

from __future__ import annotations


class JobRefused(Exception):
    """What was asked cannot be a job. ``field`` names the parameter at fault; the text is for a person."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


class JobFailed(Exception):
    """The work cannot be done with what there is; the text says why, for a person."""


class LostClaim(Exception):
    """Somebody else holds the job now. What was computed is dropped."""


class Cancelled(Exception):
    """Somebody asked for the job to stop."""


class DatabaseAway(Exception):
    """The database could not be reached for as long as a lease lasts. The job is for whoever comes next."""
