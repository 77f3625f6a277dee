"""Why the forge could not be read. Every text is a sentence for a person; none holds the token."""

from __future__ import annotations

import datetime as dt


class SyncError(Exception):
    """Something could not be read from the forge; ``again_at`` says from when on trying again makes sense."""

    again_at: dt.datetime | None = None


class NotFollowable(SyncError):
    """The address names nothing that can be followed here."""


class NotFound(SyncError):
    """The forge has nothing there, or does not show it."""


class NotAllowed(SyncError):
    """The forge refuses the token, or wants one."""


class RateLimited(SyncError):
    """The forge's limit is used up until ``again_at`` (UTC)."""

    def __init__(self, host: str, again_at: dt.datetime) -> None:
        self.again_at = again_at
        day = "" if again_at.date() == dt.datetime.now(dt.UTC).date() else f" on {again_at:%Y-%m-%d}"
        super().__init__(
            f"The rate limit of {host} is used up until {again_at:%H:%M} UTC{day}; "
            "what is followed goes on by itself then."
        )


class Unreachable(SyncError):
    """No connection, a cut one, or none that answers in time."""


class ForgeTrouble(SyncError):
    """The forge answered with an error of its own, or with something that is no answer of its API."""
