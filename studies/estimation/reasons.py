"""What a method says about itself, as data that a page, the API or a command can show without knowing it.

A method builds these; nothing that shows them asks which method it was.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ref:
    """A configuration of the fitting pool, to be shown as a link."""

    configuration_id: str


Cell = str | float | int | Ref | None


@dataclass(frozen=True)
class Column:
    """One column of a table. `unit` is empty for words; `digits` are the decimals of its numbers."""

    title: str
    unit: str = ""
    digits: int = 0

    @property
    def heading(self) -> str:
        """Title and unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


@dataclass(frozen=True)
class Table:
    """A table of reasons. `total` is a last row that sums up, empty without one."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Neighbour:
    """A measured configuration from which a peak was carried over.

    Attributes:
        configuration_id, family: the neighbour and the family of its model.
        peak_mib: what it says of the target's peak, MiB.
        at_least: it failed, so that is only a lower bound.
    """

    configuration_id: str
    family: str
    peak_mib: float
    at_least: bool


@dataclass(frozen=True)
class Part:
    """One addend of a peak: a feature's protocol name or plain words, and its GiB."""

    name: str
    gib: float


@dataclass(frozen=True)
class Stack:
    """A peak as the sum of its parts.

    Attributes:
        title: what the bar is, in a few words.
        parts: addends, GiB.
        low_gib, high_gib: where the sum may lie; None where the method gives no interval.
        verdict: words for the bar that decides, for example “rollout decides”; empty for any other.
    """

    title: str
    parts: tuple[Part, ...]
    low_gib: float | None = None
    high_gib: float | None = None
    verdict: str = ""

    @property
    def total_gib(self) -> float:
        """Sum of the parts."""
        return sum(part.gib for part in self.parts)


@dataclass(frozen=True)
class Reasons:
    """Why a method predicts what it does for one target.

    Attributes:
        title: what kind of reason it is, a few words.
        sentences: whole sentences, the most important first.
        tables, neighbours, stacks: what there is to look at; empty where there is nothing.
    """

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    stacks: tuple[Stack, ...] = ()


@dataclass(frozen=True)
class Residual:
    """How far one fitted configuration lies from what a method says without its learned constant, MiB."""

    configuration_id: str
    family: str
    group: str
    mib: float


@dataclass(frozen=True)
class Learned:
    """One learned number with its interval where it has one."""

    name: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class About:
    """A method's page: what it claims, how it computes, and where it must not be trusted.

    Attributes:
        claim: one or two sentences.
        formula: lines of the formula, the study's symbols in words.
        limits: known limits, a sentence each.
        residual_title: what the residuals are measured against; empty for a method without residuals.
    """

    claim: str
    formula: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    residual_title: str = ""
