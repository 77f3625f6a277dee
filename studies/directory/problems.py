"""What is wrong with a folder, all of it at once."""

from __future__ import annotations

from dataclasses import dataclass

from studies.estimation.errors import EstimationError

_LONGEST = 120


@dataclass(frozen=True)
class Problem:
    """One thing to mend. `line` counts from 1; None where no line can be named."""

    file: str
    line: int | None
    field: str
    value: str
    expected: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field} is {self.value}, expected {self.expected}"


class Problems:
    """A list that grows while a folder is read."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def add(self, file: str, line: int | None, field: str, value: object, expected: str) -> None:
        shown = "missing" if value is None else repr(value)
        if len(shown) > _LONGEST:
            shown = shown[:_LONGEST] + "…"
        self._found[Problem(file, line, field, shown, expected)] = None

    def add_error(self, file: str, line: int | None, error: EstimationError) -> None:
        """Take over what a rule refused."""
        self.add(file, line, error.field, error.value, error.expected)

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def number(self) -> int:
        """How many there are so far."""
        return len(self._found)

    @property
    def all(self) -> list[Problem]:
        """By file and line."""
        return sorted(self._found, key=lambda item: (item.file, item.line or 0))
