"""The class of an admission decision, from the decision and what happened. Nothing else decides it.

An admitted run that completed and yet held more than was usable, at its peak or afterwards, was no safe
admission: the limit that admitted it was not the one that let it run. Only increments are compared.

A refusal is never an over-refusal because something larger once ran: that is the weaker flag
``contradicted_by``. What did not run to a result stays unscored and is counted beside the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from django.db.models import Exists, OuterRef, QuerySet

from admission.models import LaterFact, Measurement, RecordedReplay, TrackedIssue, Witness
from admission.services.facts import later_facts, with_facts
from admission.services.standing import AsOf, until


class WitnessClass(StrEnum):
    """What a decision turned out to be."""

    UNSAFE_ADMISSION = "unsafe_admission"
    USABLE_EXCEEDED = "usable_exceeded"
    SAFE_ADMISSION = "safe_admission"
    UNSCORED_ADMISSION = "unscored_admission"
    OVER_REFUSAL = "over_refusal"
    CORRECT_REFUSAL = "correct_refusal"
    UNSCORED_REFUSAL = "unscored_refusal"


_CLASSES = {
    ("admitted", "completed"): WitnessClass.SAFE_ADMISSION,
    ("admitted", "device_oom"): WitnessClass.UNSAFE_ADMISSION,
    ("admitted", "not_executed"): WitnessClass.UNSCORED_ADMISSION,
    ("admitted", "unresolved"): WitnessClass.UNSCORED_ADMISSION,
    ("refused", "completed"): WitnessClass.OVER_REFUSAL,
    ("refused", "device_oom"): WitnessClass.CORRECT_REFUSAL,
    ("refused", "not_executed"): WitnessClass.UNSCORED_REFUSAL,
    ("refused", "unresolved"): WitnessClass.UNSCORED_REFUSAL,
}
UNSCORED = frozenset({WitnessClass.UNSCORED_ADMISSION, WitnessClass.UNSCORED_REFUSAL})


def classify(decision: str, outcome: str, *, usable_exceeded: bool = False) -> WitnessClass:
    """The class of a decision with its outcome; ``usable_exceeded``: an increment was above the usable.

    Raises ``KeyError`` for anything else.
    """
    found = _CLASSES[decision, outcome]
    if found is WitnessClass.SAFE_ADMISSION and usable_exceeded:
        return WitnessClass.USABLE_EXCEEDED
    return found


def with_usable_exceeded(rows: QuerySet[Witness], as_of: AsOf = None) -> QuerySet[Witness]:
    """``rows`` with the column ``usable_exceeded``: :attr:`ScoredWitness.usable_exceeded` as a query."""
    above = until(Measurement.objects.all(), as_of).filter(
        witness=OuterRef("pk"),
        basis=Measurement.Basis.INCREMENT,
        size_bytes__gt=OuterRef("usable_bytes"),
    )
    return rows.annotate(usable_exceeded=Exists(above))


@dataclass
class ScoredWitness:
    """A witness with its measurements and what follows from them. Sizes are bytes."""

    witness: Witness
    measurements: list[Measurement] = field(default_factory=list)
    replays: list[RecordedReplay] = field(default_factory=list)
    facts: list[LaterFact] = field(default_factory=list)

    @property
    def name(self) -> WitnessClass:
        return classify(
            self.witness.decision, self.witness.outcome, usable_exceeded=bool(self.usable_exceeded)
        )

    @property
    def scored(self) -> bool:
        return self.name not in UNSCORED

    @property
    def increments(self) -> list[Measurement]:
        """The measurements that are comparable with the prediction."""
        return [m for m in self.measurements if m.basis == Measurement.Basis.INCREMENT]

    @property
    def measured_bytes(self) -> int | None:
        """Largest increment that was measured."""
        return max((m.size_bytes for m in self.increments), default=None)

    @property
    def usable_exceeded(self) -> bool | None:
        """Whether the largest increment, peak or retained, was above the usable bytes; None if unknown."""
        if self.measured_bytes is None or self.witness.usable_bytes is None:
            return None
        return self.measured_bytes > self.witness.usable_bytes

    @property
    def under_estimated(self) -> bool | None:
        """Whether the need was above the prediction; None when that cannot be said."""
        if self.witness.excess_bytes is not None:
            return self.witness.excess_bytes > 0
        if self.measured_bytes is None or self.witness.required_bytes is None:
            return None
        return self.measured_bytes > self.witness.required_bytes

    @property
    def conditional(self) -> bool:
        """Whether some measured interval starts after admission, so that it bounds only a part."""
        return any(m.starts_after_admission for m in self.measurements)

    @property
    def margin_bytes(self) -> int | None:
        """Usable less required; negative when it was to be refused."""
        if self.witness.required_bytes is None or self.witness.usable_bytes is None:
            return None
        return self.witness.usable_bytes - self.witness.required_bytes


@dataclass(frozen=True)
class ClassCounts:
    """How many witnesses fall in each class; every class is there, also at zero."""

    by_class: dict[WitnessClass, int]
    under_estimated: int
    conditional: int
    contradicted: int

    @property
    def total(self) -> int:
        return sum(self.by_class.values())

    @property
    def unscored(self) -> int:
        return sum(self.by_class[name] for name in UNSCORED)

    @property
    def scored(self) -> int:
        return self.total - self.unscored


def scored_witnesses(issue: TrackedIssue, as_of: AsOf = None) -> list[ScoredWitness]:
    """Every witness in time, with what was measured, replayed and stated later. Four queries."""
    rows = until(issue.witness_rows.all().select_related("contradicted_by", "same_shape_as"), as_of)
    facts = later_facts(issue, as_of)
    scored = scored_of(
        with_facts(rows.order_by("sort_at", "id"), facts),
        until(issue.measurement_rows.all(), as_of).order_by("id"),
        until(issue.recordedreplay_rows.all().defer("document").order_by("id"), as_of),
        facts,
    )
    for row in scored:
        for other in (row.witness.contradicted_by, row.witness.same_shape_as):
            if other is not None:
                other.issue = issue
    return scored


def scored_of(
    witnesses: Iterable[Witness],
    measurements: Iterable[Measurement],
    replays: Iterable[RecordedReplay],
    facts: dict[str, list[LaterFact]],
) -> list[ScoredWitness]:
    """``scored_witnesses`` of one issue's rows; ``witnesses`` are in time and carry their facts."""
    found = {row.pk: ScoredWitness(row, facts=facts.get(row.key, [])) for row in witnesses}
    for measurement in measurements:
        if measurement.witness_id in found:
            found[measurement.witness_id].measurements.append(measurement)
    for replay in replays:
        if replay.witness_id in found:
            found[replay.witness_id].replays.append(replay)
    return list(found.values())


def counts(witnesses: Iterable[ScoredWitness]) -> ClassCounts:
    """Counts by class."""
    rows = list(witnesses)
    return ClassCounts(
        {name: sum(1 for row in rows if row.name == name) for name in WitnessClass},
        sum(1 for row in rows if row.under_estimated),
        sum(1 for row in rows if row.conditional),
        sum(1 for row in rows if row.witness.contradicted_by_id),
    )
