"""Why a host or an uploader does not do something; each text is for a person."""

from __future__ import annotations


class BadInput(Exception):
    """The arguments or the files can't be used."""


class Refused(Exception):
    """The site's own reason for not taking it. ``status`` is that of its answer."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class NotHeld(Refused):
    """What the host asked for is somebody else's, or has ended."""


class Unreachable(Exception):
    """No answer, however often it was tried."""


class OrderError(Exception):
    """An order that cannot be carried out: the field, its value, and what was expected."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field} is {str(value)[:120]!r}, expected {expected}")
        self.field = field


class AlreadyLaunched(Exception):
    """The launch ledger has the slot, so it is not launched again."""


class DeviceError(Exception):
    """The devices cannot be read, or are not the ones that were ordered."""


class DeviceBusy(Exception):
    """A device did not become free in time; nothing was launched, and the slot is as open as before."""


class NotStarted(Exception):
    """The program could not be started, so its slot was not launched."""
