"""The whole panel: every planned configuration with slots, label, predictions, and what each cell says."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from rlvram_site.ledger.models import LedgerRecord
from studies.estimation.labels import UNDECIDED, Label, Resolution, is_unscored_approval, resolve
from studies.estimation.rules import ProtocolRules
from studies.models import (
    Attempt,
    Configuration,
    Prediction,
    PredictionSet,
    Seal,
    SeedSlot,
    Study,
)
from studies.services.errors import ServiceError
from studies.services.history.known_times import KnownTimes
from studies.services.outcomes.slots import SlotState, slot_states
from studies.services.plan import protocols
from studies.services.predictions.recorded import in_method_order, panel_set, rows_of

SLOT_MARKS = {"completed": "●", "memory_failure": "✕", None: "?"}


@dataclass(frozen=True)
class PanelRow:
    """One planned configuration.

    Attributes:
        configuration: its settings.
        slots: its seed slots by seed, each with all attempts.
        resolution: label or its absence, and the known flags.
        predictions: by method name, in method order.
        cells: state of each method's cell, a key of ``rlvram_site.marks.MARKS``.
    """

    configuration: Configuration
    slots: tuple[SlotState, ...]
    resolution: Resolution
    predictions: dict[str, Prediction]
    cells: dict[str, str]

    @property
    def seeds(self) -> str:
        """The slots in short, ``151 ✕ 152 ✕ 153 ?``."""
        return " ".join(f"{slot.slot.seed} {SLOT_MARKS[slot.outcome.kind]}" for slot in self.slots)

    @property
    def unresolved_slots(self) -> tuple[SlotState, ...]:
        """The slots that keep the configuration from its label."""
        return tuple(slot for slot in self.slots if not slot.resolved)


@dataclass(frozen=True)
class Panel:
    """A study's panel as it is known now, or as it was at ``as_of``.

    Attributes:
        study: the study.
        rules: its effective protocol's rules; margin and capacity are MiB.
        methods: method names in the study's order.
        rows: by workload, level and GPU count.
        prediction_set: the panel's set; None while there is none.
        seal: the seal over that set; None while there is none.
        unplanned: attempts that belong to no slot, superseded entries among them. They never count.
        as_of: the moment shown; None for now.
    """

    study: Study
    rules: ProtocolRules
    methods: tuple[str, ...]
    rows: tuple[PanelRow, ...]
    prediction_set: PredictionSet | None
    seal: Seal | None
    unplanned: tuple[Attempt, ...]
    as_of: dt.datetime | None = None

    @property
    def margin_mib(self) -> int:
        """The memory margin, MiB per device."""
        return self.rules.memory_margin_limit_mib

    @property
    def capacity_mib(self) -> int:
        """Memory of one device, MiB."""
        return self.rules.device_capacity_mib

    @property
    def superseded(self) -> frozenset[int]:
        """Primary keys of the unplanned attempts that a corrected entry supersedes."""
        return frozenset(row.supersedes_id for row in self.unplanned if row.supersedes_id is not None)

    @property
    def resolutions(self) -> dict[str, Resolution]:
        """Every planned configuration's resolution, by id."""
        return {row.configuration.configuration_id: row.resolution for row in self.rows}

    @property
    def slots(self) -> tuple[SlotState, ...]:
        """All planned slots, in schedule order."""
        return tuple(
            sorted((slot for row in self.rows for slot in row.slots), key=lambda item: item.slot.position)
        )

    @property
    def resolved(self) -> tuple[PanelRow, ...]:
        """The configurations that have a label."""
        return tuple(row for row in self.rows if row.resolution.label is not None)

    def row(self, configuration_id: str) -> PanelRow:
        """One configuration's row.

        Raises ``ServiceError`` if it is not planned.
        """
        for row in self.rows:
            if row.configuration.configuration_id == configuration_id:
                return row
        raise ServiceError(f"study {self.study.slug} does not plan {configuration_id}")


def cell_state(predicted: str, resolution: Resolution) -> str:
    """What a prediction and what is known of its target say together: a key of ``MARKS``."""
    if predicted == UNDECIDED:
        if resolution.label is None:
            return "undecided_unscored"
        return "undecided_usable" if resolution.label is Label.WITHIN_MARGIN else "undecided_other"
    approves = Label(predicted).approves
    if is_unscored_approval(approves, resolution):
        if resolution.known_memory_failure:
            return "approved_unscored_known_failure"
        if resolution.known_margin_exceedance:
            return "approved_unscored_known_exceedance"
        return "approved_unscored"
    if resolution.label is None:
        return "rejected_unscored"
    usable = resolution.label is Label.WITHIN_MARGIN
    if not approves:
        return "rejected_usable" if usable else "rejected_rightly"
    if usable:
        return "useful"
    return "approved_failed" if resolution.label is Label.MEMORY_FAILURE else "approved_above_margin"


def load_panel(
    study: Study, as_of: dt.datetime | None = None, only: Collection[Configuration] | None = None
) -> Panel:
    """Everything about a study's panel, in a number of queries that does not grow with it.

    With ``only``, the rows of these configurations alone. With ``as_of``, only attempts, corrected ones too,
    exclusions, launches and predictions that were known at that moment count; see
    ``services.history.known_times`` for when something became known.
    Raises ``ServiceError`` if the study has no protocol.
    """
    rules = protocols.rules(study)
    known = KnownTimes(study)
    planned = SeedSlot.objects.filter(study=study).order_by("configuration", "seed")
    slots = list(planned if only is None else planned.filter(configuration__in=only))
    configurations = list(Configuration.objects.filter(study=study) if only is None else only)

    def then(row: LedgerRecord) -> bool:
        return as_of is None or known.at(row) <= as_of

    states: dict[int, list[SlotState]] = defaultdict(list)
    tries = {study.pk: rules.tries}
    for state in slot_states(slots, attempts=Attempt.objects.all(), rules=tries, known=then).values():
        states[state.slot.configuration_id].append(state)
    unplanned = Attempt.objects.filter(study=study, slot=None).order_by("pk")
    prediction_set = panel_set(study)
    seal = prediction_set.seals.order_by("pk").first() if prediction_set else None
    hidden = as_of is not None and (seal is None or seal.sealed_at > as_of)
    predictions: dict[int, dict[str, Prediction]] = defaultdict(dict)
    if prediction_set and not hidden:
        for prediction in rows_of(prediction_set, only):
            predictions[prediction.configuration_id][prediction.method] = prediction
    methods = in_method_order(method for named in predictions.values() for method in named)
    rows = [_row(item, states[item.pk], predictions[item.pk], methods, rules) for item in configurations]
    return Panel(
        study=study,
        rules=rules,
        methods=tuple(methods),
        rows=tuple(sorted(rows, key=_place)),
        prediction_set=None if hidden else prediction_set,
        seal=None if hidden else seal,
        unplanned=tuple(filter(then, unplanned)),
        as_of=as_of,
    )


def _row(
    configuration: Configuration,
    slots: list[SlotState],
    predictions: dict[str, Prediction],
    methods: list[str],
    rules: ProtocolRules,
) -> PanelRow:
    resolution = resolve(
        [slot.outcome for slot in slots],
        rules.memory_margin_limit_mib,
        seeds=rules.evaluation_seeds,
        configuration_id=configuration.configuration_id,
    )
    ordered = {method: predictions[method] for method in methods if method in predictions}
    return PanelRow(
        configuration=configuration,
        slots=tuple(slots),
        resolution=resolution,
        predictions=ordered,
        cells={method: cell_state(item.label, resolution) for method, item in ordered.items()},
    )


def _place(row: PanelRow) -> tuple:
    item = row.configuration
    return item.workload_id, item.configuration_level, item.gpu_count, item.configuration_id
