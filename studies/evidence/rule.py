"""What one row of the table of texts holds, and how much a match weighs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from studies.evidence.diagnoses import Diagnosis as D
from studies.evidence.patterns import Pattern, linear


class Role(Enum):
    """How much a line weighs."""

    CAUSE = "cause"
    """Ends a run by itself unless somebody handled it. The first one decides."""
    KILL = "kill"
    """A process was killed and nobody says why. Gives way to whoever knows the reason."""
    ERROR = "error"
    """An exception that is often caught and logged. Only the last one can have ended the run."""
    CONSEQUENCE = "consequence"
    """Printed because something else failed. Decides only if nothing else is known."""
    ADVICE = "advice"
    """Contains words of an error without being one. Never decides, and hides the line from later rules."""


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    Attributes:
        name: identifies the row.
        role: how much a match weighs.
        diagnosis: what it stands for; None for advice.
        keys: lower-case texts; every matching line contains one of them.
        pattern: looked for in the body of a line.
        unless: where this is found too, the row does not match.
        gate: pattern that stands for the keys where these are too common to look for in a whole log.
        by_place: the traceback above the line says where it happened, and may change the diagnosis.
        host_if_pinned: the same text is printed when page-locked host memory runs out.
    """

    name: str
    role: Role
    diagnosis: D | None
    keys: tuple[str, ...]
    pattern: Pattern
    unless: Pattern | None = None
    gate: str = ""
    by_place: bool = False
    host_if_pinned: bool = False

    @property
    def is_gpu_memory(self) -> bool:
        """Whether a match is an outcome of GPU memory, wherever it arose."""
        return self.diagnosis is not None and self.diagnosis.is_gpu_memory

    def position_in(self, body: bytes) -> int | None:
        """Where the row matches, or None."""
        found = self.pattern.search(body)
        if found is None or (self.unless is not None and self.unless.search(body) is not None):
            return None
        return found.start()


def row(
    role: Role,
    diagnosis: D | None,
    name: str,
    keys: str,
    pattern: str,
    *,
    unless: str = "",
    gate: str = "",
    by_place: bool = False,
    host_if_pinned: bool = False,
) -> Rule:
    """A row, in the order in which it is read: weight, meaning, name, keys (parted by `|`), pattern."""
    return Rule(
        name,
        role,
        diagnosis,
        tuple(keys.split("|")),
        linear(pattern),
        linear(unless) if unless else None,
        gate,
        by_place,
        host_if_pinned,
    )
