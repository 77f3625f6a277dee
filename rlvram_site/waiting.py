"""What somebody should look at this morning: what is contradicted, and what waits for a person.

Each part of the site says what it has; the first page asks all of them. Every answer costs a fixed number of
queries and names a bounded number of lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

LISTED = 10
"""Lines that one kind of task has at most."""


@dataclass(frozen=True)
class Task:
    """One thing to see to: a sentence, and the address where that is done."""

    sentence: str
    address: str


Source = Callable[[Any], Iterable[Task]]
_WAITING: list[Source] = []
_CONTRADICTED: list[Source] = []


def add_source(waiting: Source | None = None, contradicted: Source | None = None) -> None:
    """A part's own tasks and contradictions; each gets the person who asks. Called when the site starts."""
    if waiting is not None and waiting not in _WAITING:
        _WAITING.append(waiting)
    if contradicted is not None and contradicted not in _CONTRADICTED:
        _CONTRADICTED.append(contradicted)


def waiting_for(user: Any) -> list[Task]:
    """What waits for this person; empty for a stranger."""
    return [task for source in _WAITING for task in source(user)] if user.is_authenticated else []


def contradicted(user: Any) -> list[Task]:
    """What two records say differently, for everybody who may read them."""
    return [task for source in _CONTRADICTED for task in source(user)]
