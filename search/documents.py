"""What a record is found by, and the register of the describers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import models

MOST_CHARACTERS = 20_000
"""Of one record's words; a longer statement is found by its beginning."""


@dataclass(frozen=True)
class Document:
    """One record as it is found.

    Attributes:
        label: its name, as its own page writes it.
        address: of the page that shows it, with the place on it.
        place: what it belongs to, for a person.
        words: whatever else it is found by; parts that are empty are left out.
    """

    label: str
    address: str
    place: str
    words: Iterable[Any] = field(default=())

    @property
    def text(self) -> str:
        """The words in one line, cut to ``MOST_CHARACTERS``."""
        parts = (" ".join(str(part).split()) for part in self.words if part not in (None, ""))
        return " · ".join(part for part in parts if part)[:MOST_CHARACTERS]


Describe = Callable[[Any], Document | None]


@dataclass(frozen=True)
class Describer:
    """How one table's rows become documents."""

    model: type[models.Model]
    kind: str
    plural: str
    describe: Describe
    related: tuple[str, ...]


_describers: dict[str, Describer] = {}
_plurals: dict[str, str] = {}


def describes(
    model: type[models.Model], kind: str, plural: str, related: tuple[str, ...] = ()
) -> Callable[[Describe], Describe]:
    """Register a function that turns a row of ``model`` into a document, or into None if nobody looks for it.

    ``kind`` and ``plural`` head the group of results; ``related`` is what a query for rows brings along.
    """

    def register(describe: Describe) -> Describe:
        _describers[model._meta.label_lower] = Describer(model, kind, plural, describe, related)
        _plurals[kind] = plural
        return describe

    return register


def describer_of(record_type: str) -> Describer | None:
    """The describer of a ledger entry's ``record_type``, or None if its rows are not looked for."""
    return _describers.get(record_type.lower())


def kinds() -> dict[str, str]:
    """The plural of each kind, in the order in which groups of results are shown."""
    return dict(_plurals)
