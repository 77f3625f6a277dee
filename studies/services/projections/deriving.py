"""What the projections of some configurations are, from recorded rows alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlvram_site.marks import UNSCORED_APPROVALS
from studies.estimation.cells import cell_state
from studies.estimation.errors import EstimationError
from studies.estimation.labels import UNRESOLVED, Label, Resolution, SlotOutcome, resolve
from studies.estimation.tries import SlotTries
from studies.models import (
    Attempt,
    CellProjection,
    Configuration,
    ConfigurationProjection,
    Prediction,
    PredictionSet,
    SeedSlot,
    SlotProjection,
    Study,
    StudyProjection,
)
from studies.services.errors import UNREADABLE
from studies.services.outcomes.slots import SlotState, slot_state_of, slot_states
from studies.services.plan import protocols
from studies.services.predictions.recorded import panel_set

VERSION = 1
"""Of the rules below. A site whose rows have another one makes them anew after it migrated."""

CELL_KINDS = (PredictionSet.Kind.PANEL, PredictionSet.Kind.DEVELOPMENT)


@dataclass(frozen=True)
class Basis:
    """What a study's projections rest on: margin in MiB (None: there can be none), the protocol's seeds and
    its rule of tries, the panel's set."""

    study_id: int
    margin_mib: float | None
    seeds: tuple[int, ...]
    tries: SlotTries
    prediction_set_id: int | None

    @classmethod
    def of(cls, row: StudyProjection) -> Basis:
        """The basis that a row holds."""
        return cls(
            row.study_id, row.margin_mib, tuple(row.seeds), SlotTries(**row.tries), row.prediction_set_id
        )

    def row(self) -> StudyProjection:
        """The row that holds this basis."""
        return StudyProjection(
            study_id=self.study_id, margin_mib=self.margin_mib, prediction_set_id=self.prediction_set_id,
            version=VERSION, seeds=list(self.seeds), tries={"permitted": self.tries.permitted,
                                    "never_launched_uses_one": self.tries.never_launched_uses_one},
        )  # fmt: skip


def basis_of(study: Study) -> Basis:
    """What the study's effective protocol and predictions say now."""
    chosen = panel_set(study)
    try:
        rules = protocols.rules(study)
    except UNREADABLE:
        return Basis(study.pk, None, (), SlotTries(), chosen.pk if chosen else None)
    margin_mib, seeds = float(rules.memory_margin_limit_mib), tuple(rules.evaluation_seeds)
    return Basis(study.pk, margin_mib, seeds, rules.tries, chosen.pk if chosen else None)


def slots_of(*, configurations: Collection[int] = (), slots: Collection[int] = ()) -> list[SeedSlot]:
    """The slots of these configurations, or of the configurations that these slots belong to, by seed. Each
    with its failed launch and what is projected of it."""
    chosen: Any = configurations
    if slots:
        chosen = SeedSlot.objects.filter(pk__in=slots).values("configuration")
    return list(
        SeedSlot.objects.filter(configuration__in=chosen)
        .select_related("projection", "non_launch")
        .only("study", "configuration", "seed", "projection__kind", "projection__peak_mib",
              "projection__attempts", "non_launch__slot", "non_launch__reason", "non_launch__recorded_at")
        .order_by("configuration", "seed")
    )  # fmt: skip


def slot_projections(slots: Iterable[SeedSlot], basis: Basis) -> list[SlotProjection]:
    """What these slots' attempts establish. Their failed launches should be loaded."""
    rows = list(slots)
    launched = [slot.non_launch for slot in rows if hasattr(slot, "non_launch")]
    states = slot_states(rows, rules={basis.study_id: basis.tries}, launched=launched)
    return [_slot_projection(state, basis) for state in states.values()]


def fresh_projection(slot: SeedSlot, attempts: Sequence[Attempt], basis: Basis) -> SlotProjection:
    """What a slot's first attempts establish; nothing was recorded about any of them yet."""
    return _slot_projection(
        slot_state_of(slot, attempts, {}, getattr(slot, "non_launch", None), basis.tries), basis
    )


def _slot_projection(state: SlotState, basis: Basis) -> SlotProjection:
    assert basis.margin_mib is not None
    return SlotProjection(
        slot_id=state.slot.pk,
        study_id=state.slot.study_id,
        configuration_id=state.slot.configuration_id,
        kind=state.outcome.kind,
        peak_mib=state.outcome.peak_mib,
        state=state.state(basis.margin_mib),
        reason=state.reason,
        eligible_id=state.eligible.pk if state.eligible else None,
        tries_used=state.tries_used,
        one_more_may_count=state.one_more_may_count,
        launched=bool(state.attempts),
        attempts=[[item.attempt.pk, item.role.value] for item in state.attempts],
    )


def resolution_of(
    name: str, slots: Sequence[tuple[int, SlotProjection]], margin_mib: float, seeds: Collection[int]
) -> Resolution:
    """The resolution of a configuration from its slots' seeds and projections.

    ``seeds`` are the protocol's. Raises ``EstimationError`` for slots that it does not plan.
    """
    outcomes = [SlotOutcome(seed, slot.kind, slot.peak_mib) for seed, slot in slots]  # type: ignore[arg-type]
    return resolve(outcomes, margin_mib, seeds=seeds, configuration_id=name)


def blank_projection(configuration: Configuration) -> ConfigurationProjection:
    """The configuration's row, without anything that was observed."""
    assert configuration.study_id is not None
    return ConfigurationProjection(
        configuration_id=configuration.pk,
        study_id=configuration.study_id,
        name=configuration.configuration_id,
        model_family=configuration.model_family,
        workload_id=configuration.workload_id,
        workload_name=configuration.workload_name,
        level=configuration.configuration_level,
        gpu_count=configuration.gpu_count,
    )


def resolve_projection(row: ConfigurationProjection, resolution: Resolution | EstimationError) -> None:
    """Write a resolution, or why there is none, into the row."""
    broken = isinstance(resolution, EstimationError)
    row.problem = str(resolution) if broken else ""
    row.state = "" if broken else resolution.state  # type: ignore[union-attr]
    row.known_memory_failure = not broken and resolution.known_memory_failure  # type: ignore[union-attr]
    row.known_margin_exceedance = not broken and resolution.known_margin_exceedance  # type: ignore[union-attr]
    row.completed_peak_mib = None if broken else resolution.completed_peak_mib  # type: ignore[union-attr]


def known(state: str, memory_failure: bool, margin_exceedance: bool) -> Resolution:
    """What is known of a configuration, as cells are judged by it; seeds, counts and peaks are not in it."""
    label = None if state == UNRESOLVED else Label(state)
    return Resolution(label, memory_failure, margin_exceedance, 0, (), (), None, None)


def cell_projection(prediction: Prediction, row: ConfigurationProjection) -> CellProjection:
    """What the prediction and its target's row say together. The row must have no problem."""
    return CellProjection(
        prediction_id=prediction.pk,
        study_id=row.study_id,
        prediction_set_id=prediction.prediction_set_id,
        configuration_id=row.configuration_id,
        method=prediction.method,
        predicted=prediction.label,
        state=cell_state(
            prediction.label, known(row.state, row.known_memory_failure, row.known_margin_exceedance)
        ),
    )


def predictions_of(basis: Basis, configurations: Collection[int]) -> dict[int, list[Prediction]]:
    """Predictions of these configurations that have cells, by configuration."""
    found: dict[int, list[Prediction]] = defaultdict(list)
    rows = Prediction.objects.filter(
        study=basis.study_id, configuration__in=configurations, prediction_set__kind__in=CELL_KINDS
    ).only("pk", "prediction_set", "configuration", "method", "label")
    for row in rows.order_by("pk"):
        found[row.configuration_id].append(row)
    return found


def is_unscored(cells: Iterable[CellProjection], basis: Basis) -> bool:
    """Whether a method of the panel's set approves the configuration while it is unscored."""
    return any(
        cell.prediction_set_id == basis.prediction_set_id and cell.state in UNSCORED_APPROVALS
        for cell in cells
    )


def resolutions_of(
    names: Mapping[int, str], slots: Iterable[SeedSlot], basis: Basis
) -> dict[int, Resolution | EstimationError]:
    """By configuration, from slots that have their projection set; or why there is none.

    ``names`` are the configurations' ids by primary key.
    """
    assert basis.margin_mib is not None
    by_configuration: dict[int, list[tuple[int, SlotProjection]]] = defaultdict(list)
    for slot in slots:
        by_configuration[slot.configuration_id].append((slot.seed, slot.projection))
    found: dict[int, Resolution | EstimationError] = {}
    for pk, name in names.items():
        try:
            found[pk] = resolution_of(name, by_configuration[pk], basis.margin_mib, basis.seeds)
        except EstimationError as error:
            found[pk] = error
    return found
