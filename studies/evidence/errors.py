"""The one error of this package."""

from __future__ import annotations

_LONGEST_VALUE = 160


class EvidenceError(ValueError):
    """A file or an argument that can't be read as what it should be.

    The text always has the same four parts: which `source` (a file or an argument), which `field`, the
    `value` found, and what was `expected` instead.
    """

    def __init__(self, source: str, field: str, value: object, expected: str) -> None:
        super().__init__(source, field, value, expected)
        self.source = source
        self.field = field
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        shown = repr(self.value)
        if len(shown) > _LONGEST_VALUE:
            shown = shown[:_LONGEST_VALUE] + "…"
        return f"{self.source}: {self.field} is {shown}, expected {self.expected}"
