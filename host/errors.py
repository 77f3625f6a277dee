"""Why a host does not do something; each text is for a person."""

from __future__ import annotations


class OrderError(Exception):
    """An order that cannot be carried out: the field, its value, and what was expected."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field} is {str(value)[:120]!r}, expected {expected}")
        self.field = field


class AlreadyLaunched(Exception):
    """The launch ledger has the slot, so it is not launched again."""


class DeviceError(Exception):
    """The devices cannot be read, or are not the ones that were ordered."""
