"""A panel in numbers, and any part of it as lines: read from its projections, so that a page costs what it
shows. ``panel.load_panel`` derives the same from the records, all of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, F, Min, QuerySet, Sum

from studies.estimation.cells import cell_state
from studies.estimation.errors import EstimationError
from studies.estimation.labels import (
    UNDECIDED,
    UNRESOLVED,
    Answer,
    Label,
    Resolution,
    SlotOutcome,
    parse_answer,
)
from studies.estimation.panel import single_label_counts
from studies.estimation.rules import ProtocolRules
from studies.estimation.scoring import count_scores
from studies.estimation.tries import SlotTries
from studies.models import (
    Attempt,
    CellProjection,
    Configuration,
    ConfigurationProjection,
    GroupCount,
    MethodTally,
    PredictionSet,
    Seal,
    SeedSlot,
    SlotProjection,
    Study,
)
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.predictions.recorded import in_method_order, panel_set
from studies.services.projections.deriving import known, resolution_of
from studies.services.scores.panel import SLOT_MARKS

PLACE = ("workload_id", "level", "gpu_count", "name")
"""Columns of a configuration's projection in the order of a panel."""


@dataclass(frozen=True)
class SlotLine:
    """One slot as its projection has it. ``tries`` is the protocol's rule."""

    slot: SeedSlot
    tries: SlotTries

    @property
    def outcome(self) -> SlotOutcome:
        """What goes into the label."""
        row = self.slot.projection
        return SlotOutcome(self.slot.seed, row.kind, row.peak_mib)  # type: ignore[arg-type]

    @property
    def reason(self) -> str:
        """Why it is unresolved; empty when it is not."""
        return self.slot.projection.reason

    @property
    def state(self) -> str:
        """A label's word for one slot, or unresolved."""
        return self.slot.projection.state

    @property
    def mark(self) -> str:
        """What became of it, as one character."""
        return SLOT_MARKS[self.outcome.kind]

    @property
    def resolved(self) -> bool:
        return self.slot.projection.eligible_id is not None

    @property
    def eligible(self) -> Attempt | None:
        """The attempt that counts."""
        return self.slot.projection.eligible

    @property
    def one_more_may_count(self) -> bool:
        return self.slot.projection.one_more_may_count

    @property
    def attempts(self) -> list:
        """Primary key and role of each attempt, in the order of the tries."""
        return self.slot.projection.attempts


@dataclass(frozen=True)
class PanelLine:
    """One planned configuration of a panel, with its slots by seed and a state for each method's cell."""

    configuration: Configuration
    slots: tuple[SlotLine, ...]
    resolution: Resolution
    cells: Mapping[str, str]
    predicted: Mapping[str, str]

    @property
    def seeds(self) -> str:
        """The slots in short, ``151 ✕ 152 ✕ 153 ?``."""
        return " ".join(f"{slot.slot.seed} {slot.mark}" for slot in self.slots)

    @property
    def reasons(self) -> list[str]:
        """Why slots are unresolved, each reason once."""
        return list(dict.fromkeys(slot.reason for slot in self.slots if slot.reason))

    @property
    def unresolved_slots(self) -> tuple[SlotLine, ...]:
        """The slots that keep the configuration from its label."""
        return tuple(slot for slot in self.slots if not slot.resolved)


@dataclass(frozen=True)
class PanelNumbers:
    """A panel as it is known now, in numbers that don't grow with it.

    Attributes:
        study: the study.
        rules: its effective protocol's rules; margin and capacity are MiB.
        labels: planned configurations by label, and those that are unresolved.
        tallies: for each method of the panel's set, in method order, how many answers are alike.
        prediction_set: the panel's set; None while there is none.
    """

    study: Study
    rules: ProtocolRules
    labels: Mapping[str, int]
    tallies: Mapping[str, Sequence[MethodTally]]
    prediction_set: PredictionSet | None

    @property
    def methods(self) -> tuple[str, ...]:
        """Method names in the study's order."""
        return tuple(self.tallies)

    @property
    def margin_mib(self) -> int:
        """The memory margin, MiB per device."""
        return self.rules.memory_margin_limit_mib

    @property
    def capacity_mib(self) -> int:
        """Memory of one device, MiB."""
        return self.rules.device_capacity_mib

    @property
    def planned(self) -> int:
        """Planned configurations."""
        return sum(self.labels.values())

    @property
    def resolved(self) -> int:
        """Planned configurations that have a label."""
        return self.planned - self.labels.get(UNRESOLVED, 0)

    @cached_property
    def seal(self) -> Seal | None:
        """The first seal over the panel's set."""
        return self.prediction_set.seals.order_by("pk").first() if self.prediction_set else None


def panel_numbers(study: Study) -> PanelNumbers:
    """The panel in numbers.

    Raises ``ServiceError`` without a protocol or for a configuration that can't have a label yet,
    ``EstimationError`` for rules or predictions that are not what they should be.
    """
    rules = protocols.rules(study)
    broken = ConfigurationProjection.objects.filter(study=study).exclude(problem="").order_by("name")
    if problem := broken.values_list("problem", flat=True).first():
        raise ServiceError(problem)
    observed = GroupCount.objects.filter(study=study, prediction_set=None)
    labels = dict(observed.values_list("state").annotate(number=Sum("number")).order_by("state"))
    chosen = panel_set(study)
    return PanelNumbers(study, rules, labels, tallies_of(chosen), chosen)


def tallies_of(prediction_set: PredictionSet | None) -> dict[str, list[MethodTally]]:
    """The tallies of a set by method, in method order; empty without a set."""
    found: dict[str, list[MethodTally]] = defaultdict(list)
    if prediction_set is not None:
        for row in MethodTally.objects.filter(prediction_set=prediction_set).order_by("pk"):
            found[row.method].append(row)
    return {method: found[method] for method in in_method_order(found)}


def counted_cells(tallies: Iterable[MethodTally]) -> Counter[str]:
    """Cells by state, a key of ``rlvram_site.marks.MARKS``."""
    counts: Counter[str] = Counter()
    for row in tallies:
        counts[cell_state(row.predicted, _known(row))] += row.number
    return counts


def _known(row: MethodTally) -> Resolution:
    return known(row.observed, row.known_memory_failure, row.known_margin_exceedance)


def counted_scores(tallies: Iterable[MethodTally]) -> dict[str, Any]:
    """The scores of one method that follow from counts alone, on the resolved configurations."""
    rows = [row for row in tallies if row.observed != UNRESOLVED]
    answers: list[Answer] = list(Label)
    if any(row.predicted == UNDECIDED for row in rows):
        answers.append(UNDECIDED)
    cells: dict[Answer, dict[Label, int]] = {answer: dict.fromkeys(Label, 0) for answer in answers}
    for row in rows:
        cells[parse_answer(row.predicted, row.method)][Label(row.observed)] += row.number
    return count_scores(cells)


def counted_approvals(tallies: Iterable[MethodTally]) -> dict[str, int]:
    """How many configurations a method approves, under the archive's key names; the lists there are numbers
    here."""
    approved = [row for row in tallies if row.predicted == Label.WITHIN_MARGIN.value]
    unscored = [row for row in approved if row.observed == UNRESOLVED]

    def total(rows: Iterable[MethodTally]) -> int:
        return sum(row.number for row in rows)

    return {
        "full_panel_approved_configurations": total(approved),
        "scored_approved_configurations": total(approved) - total(unscored),
        "unscored_approved_configurations": total(unscored),
        "unscored_approvals_with_known_failure": total(row for row in unscored if row.known_memory_failure),
        "unscored_approvals_with_known_margin_exceedance": total(
            row for row in unscored if row.known_margin_exceedance
        ),
    }


def counted_evaluation(panel: PanelNumbers) -> dict[str, Any]:
    """What a page says of a panel's evaluation, in numbers under the archive's key names.

    Raises ``ServiceError`` if nothing is predicted yet, ``EstimationError`` for a method that does not cover
    the panel.
    """
    if panel.prediction_set is None:
        raise ServiceError(f"study {panel.study.slug} has no predictions to evaluate")
    if not panel.tallies:
        raise EstimationError("prediction set", "predictions", 0, "at least one method's predictions")
    for method, tallies in panel.tallies.items():
        if sum(row.number for row in tallies) != panel.planned:
            missing = ConfigurationProjection.objects.filter(study=panel.study).exclude(
                configuration__cells__in=CellProjection.objects.filter(
                    prediction_set=panel.prediction_set, method=method
                )
            )
            raise EstimationError(
                f"predictions of {method}", "configuration_id",
                missing.order_by("name").values_list("name", flat=True).first(),
                "a prediction for each configuration",
            )  # fmt: skip
    return {
        "planned_configurations": panel.planned,
        "resolved_configurations": panel.resolved,
        "approvals": {method: counted_approvals(rows) for method, rows in panel.tallies.items()},
        "resolved_subset_metrics": {method: counted_scores(rows) for method, rows in panel.tallies.items()},
    }


def counted_rule(panel: PanelNumbers) -> dict[str, Any] | None:
    """The rule that always predicts the resolved subset's one label, scored; None unless it has one."""
    return single_label_counts({label: panel.labels.get(label.value, 0) for label in Label})


def in_panel_order(study: Study) -> QuerySet[ConfigurationProjection]:
    """The study's configurations in the order of a panel, as their projections."""
    return ConfigurationProjection.objects.filter(study=study).order_by(*PLACE)


def lines(panel: PanelNumbers, keys: Iterable[int]) -> list[PanelLine]:
    """These configurations of the panel as lines, in the order of ``keys``."""
    wanted = list(keys)
    found = Configuration.objects.in_bulk(wanted)
    return lines_of(panel, {pk: found[pk] for pk in wanted})


def lines_of(panel: PanelNumbers, configurations: Mapping[int, Configuration]) -> list[PanelLine]:
    """These configurations, by primary key, as lines in the same order."""
    keys = list(configurations)
    slots: dict[int, list[SlotLine]] = defaultdict(list)
    rows = SeedSlot.objects.filter(configuration__in=keys).select_related("projection").defer("settings")
    for slot in rows.order_by("configuration", "seed"):
        slots[slot.configuration_id].append(SlotLine(slot, panel.rules.tries))
    cells: dict[int, dict[str, CellProjection]] = defaultdict(dict)
    if panel.prediction_set is not None:
        for cell in CellProjection.objects.filter(
            prediction_set=panel.prediction_set, configuration__in=keys
        ):
            cells[cell.configuration_id][cell.method] = cell
    return [_line(panel, row, slots[pk], cells[pk]) for pk, row in configurations.items()]


def _line(
    panel: PanelNumbers, row: Configuration, slots: list[SlotLine], cells: dict[str, CellProjection]
) -> PanelLine:
    row.study = panel.study  # read already; its address needs it
    resolution = resolution_of(
        row.configuration_id,
        [(item.slot.seed, item.slot.projection) for item in slots],
        panel.margin_mib,
        panel.rules.evaluation_seeds,
    )
    return PanelLine(
        row,
        tuple(slots),
        resolution,
        {method: cells[method].state for method in panel.methods if method in cells},
        {method: cells[method].predicted for method in panel.methods if method in cells},
    )


def cells_of(sets: Iterable[PredictionSet], rows: Iterable[PanelLine]) -> dict[int, dict[str, str]]:
    """What these sets' methods say of each of these configurations: the cell's state by method."""
    found: dict[int, dict[str, str]] = {row.configuration.pk: {} for row in rows}
    wanted = CellProjection.objects.filter(prediction_set__in=list(sets), configuration__in=list(found))
    cells = list(wanted)
    for method in in_method_order(cell.method for cell in cells):
        for cell in cells:
            if cell.method == method:
                found[cell.configuration_id][method] = cell.state
    return found


@dataclass(frozen=True)
class SlotNumbers:
    """How many of a study's slots are alike in state, reason and GPU count."""

    state: str
    reason: str
    gpu_count: int
    launched: bool
    number: int


def slot_numbers(study: Study) -> list[SlotNumbers]:
    """The slots of a study, counted by the database; in the order in which each kind first occurs."""
    rows = (
        SlotProjection.objects.filter(study=study)
        .values("state", "reason", "launched", gpus=F("configuration__gpu_count"))
        .annotate(number=Count("pk"), first=Min("pk"))
        .order_by("first")
    )
    return [
        SlotNumbers(row["state"], row["reason"], row["gpus"], row["launched"], row["number"]) for row in rows
    ]
