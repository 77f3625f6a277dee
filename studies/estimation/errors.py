"""The one error of this package."""

from __future__ import annotations

_LONGEST_VALUE = 160


class EstimationError(ValueError):
    """Input or a numerical result that the study's rules do not allow.

    The text always has the same four parts: whose field it is (`offender`), which `field`, the `value`
    found, and what was `expected` instead.
    """

    def __init__(self, offender: str, field: str, value: object, expected: str) -> None:
        super().__init__(offender, field, value, expected)
        self.offender = offender
        self.field = field
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        shown = repr(self.value)
        if len(shown) > _LONGEST_VALUE:
            shown = shown[:_LONGEST_VALUE] + "…"
        return f"{self.offender}: {self.field} is {shown}, expected {self.expected}"
