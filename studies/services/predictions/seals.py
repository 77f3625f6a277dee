"""Seals: whether one came before the first launch and the first outcome, and recording one here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.chain import lock_stream, record, record_all
from rlvram_site.ledger.models import LedgerEntry
from studies.estimation.errors import EstimationError
from studies.estimation.methods import Prediction as MethodPrediction
from studies.estimation.panel import by_method
from studies.estimation.study import inherit
from studies.models import (
    Attempt,
    Configuration,
    FittedModel,
    Prediction,
    PredictionSet,
    Refusal,
    Seal,
    Study,
)
from studies.models.predictions import MADE_HERE
from studies.services.errors import ServiceError
from studies.services.ledger_order import first_launch, first_outcome, sequence_of, sequences
from studies.services.plan import protocols
from studies.services.plan.complete import require_complete
from studies.services.plan.pools import pool_of
from studies.services.predictions import bindings
from studies.services.predictions.recorded import method_predictions, panel_set
from studies.services.refusals import refusals_kept

CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class SealState:
    """A study's seal and its place in the ledger. Numbers are ledger sequence numbers, None: not there.

    Attributes:
        seal: the first seal over the panel's predictions.
        number, first_launch, first_outcome: places of the seal, the first launch and the first outcome.
        late_predictions: predictions that were added to the sealed set after the seal.
        contradictions: attempts recorded after the seal whose own clock lies before it.
    """

    seal: Seal | None
    number: int | None
    first_launch: int | None
    first_outcome: int | None
    late_predictions: int
    contradictions: tuple[Attempt, ...] = ()

    @property
    def prospective(self) -> bool:
        """Whether every prediction was sealed before the first outcome of a target was recorded.

        Not so where an attempt's own clock contradicts it.
        """
        return self.in_order and not self.contradictions

    @property
    def in_order(self) -> bool:
        """Whether the ledger alone has every prediction sealed before the first outcome of a target."""
        if self.number is None or self.late_predictions:
            return False
        return self.first_outcome is None or self.number < self.first_outcome

    @property
    def verdict(self) -> bool | str:
        """``prospective`` as programs get it: true, false, or the word ``contradicted``."""
        return CONTRADICTED if self.in_order and self.contradictions else self.prospective

    @property
    def contradiction(self) -> str:
        """What contradicts the ledger's order, as a sentence; empty without anything."""
        if not self.contradictions or self.seal is None:
            return ""
        first = min(self.contradictions, key=own_clock)
        many = len(self.contradictions)
        which = "1 attempt was" if many == 1 else f"{many} attempts were"
        return (
            f"Contradicted: {which} recorded after the seal, but by its own clock "
            f"{first.invocation_id} ran at {own_clock(first):%Y-%m-%d %H:%M:%S} UTC, before the seal of "
            f"{self.seal.sealed_at:%Y-%m-%d %H:%M:%S} UTC"
        )

    @property
    def word(self) -> str:
        """The state in words for a page."""
        if self.number is None:
            return "not sealed"
        if self.late_predictions:
            return f"sealed, but {self.late_predictions} predictions were added afterwards"
        if not self.in_order:
            return "sealed after an outcome was known, so not prospective"
        if self.first_launch is not None and self.first_launch < self.number:
            return "sealed after the first launch and before the first outcome"
        return "sealed before the first launch"


def own_clock(attempt: Attempt) -> dt.datetime:
    """The earliest time that an attempt states of itself. Raises ``ValueError`` if it states none."""
    return min(moment for moment in (attempt.started_at, attempt.ended_at) if moment is not None)


def contradictions(study: Study, seal: Seal, number: int) -> tuple[Attempt, ...]:
    """Attempts recorded after a seal, at place ``number``, that by their own clock ran before it."""
    early = Attempt.objects.filter(
        Q(started_at__lt=seal.sealed_at) | Q(ended_at__lt=seal.sealed_at), study=study
    )
    rows = list(early.only("invocation_id", "started_at", "ended_at").order_by("pk"))
    if not rows:
        return ()
    places = sequences(early)
    return tuple(row for row in rows if places[row.pk] > number)


def seal_state(study: Study) -> SealState:
    """The seal over the study's panel, with its place derived from the ledger."""
    prediction_set = panel_set(study)
    seal = prediction_set.seals.order_by("pk").first() if prediction_set else None
    launch, outcome = first_launch(study), first_outcome(study)
    if prediction_set is None or seal is None:
        return SealState(None, None, launch, outcome, 0)
    number = sequence_of(seal)
    late = LedgerEntry.objects.filter(
        Exists(prediction_set.predictions.order_by().filter(pk=OuterRef("record_id"))),
        stream__name=study.stream,
        record_type=Prediction._meta.label_lower,
        sequence__gt=number,
    ).count()
    return SealState(seal, number, launch, outcome, late, contradictions(study, seal, number))


@refusals_kept(Refusal.What.SEAL)
def seal_predictions(prediction_set: PredictionSet, sealed_at: dt.datetime | None = None) -> Seal:
    """Seal a complete prediction set of a panel, binding by hash everything that it rests on.

    The seal's sha256 is that of its canonical JSON, because it has no file.
    Raises ``ServiceError``: an outcome of a target is recorded already, the set is sealed already, it is no
    panel's, the plan is incomplete or not frozen, or a method misses a target.
    """
    study = prediction_set.study
    with transaction.atomic():
        # Whoever records an outcome now waits for this lock, so that it cannot come in between.
        lock_stream(study.stream)
        _check_sealable(prediction_set, study)
        base = protocols.base_protocol(study)
        content = {
            "protocol_sha256": base.sha256,
            "amendments_sha256": {
                item.source_path or f"amendment {item.number}": item.sha256 for item in study.amendments.all()
            },
            "input_sha256": {"effective protocol": protocols.effective_sha256(study)},
            "output_sha256": {
                "predictions": digest([item.to_record() for item in method_predictions(prediction_set)])
            },
            "bound": bindings.binding(study),
        }
        moment = sealed_at or timezone.now()
        seal = Seal(
            study=study,
            prediction_set=prediction_set,
            sha256=digest({**content, "sealed_at": moment}),
            source_path=MADE_HERE,
            sealed_at=moment,
            **content,
        )
        seal.save()
        return seal


def _check_sealable(prediction_set: PredictionSet, study: Study) -> None:
    if prediction_set.kind != PredictionSet.Kind.PANEL:
        raise ServiceError(f"{prediction_set}: only a panel's predictions are sealed")
    check_open(study)
    try:
        by_method(method_predictions(prediction_set), protocols.rules(study).target_configuration_ids)
    except EstimationError as error:
        raise ServiceError(f"study {study.slug} cannot be sealed: {error}") from None


def check_open(study: Study) -> None:
    """Raise ``ServiceError`` unless it can be predicted: unsealed, without an outcome, its plan complete."""
    if Seal.objects.filter(study=study).exists():
        raise ServiceError(f"study {study.slug} is sealed already")
    if first_outcome(study) is not None:
        raise ServiceError(
            f"study {study.slug} cannot be sealed: an outcome of a target is recorded already, so its "
            "predictions would not be prospective"
        )
    require_complete(study)


def predict_and_seal(study: Study, result: Mapping[str, Any]) -> tuple[PredictionSet, Seal]:
    """Record a refit worker's ``result`` as the study's fits and predictions, and seal the panel's.

    All or nothing. Raises ``ServiceError`` for a study that is sealed or has an outcome.
    """
    with transaction.atomic():
        # An outcome that is recorded at the same time waits for the end of this.
        lock_stream(study.stream)
        check_open(study)
        environment = result["numerical_environment"]
        pool = {row.configuration_id: row for row in pool_of(study).configurations.all()}
        targets = {row.configuration_id: row for row in study.configurations.all()}
        for family, fold in sorted(result["retrospective"]["folds"].items()):
            model = {**fold["model"], "source_cost": fold["source_cost"]}
            record_set(
                PredictionSet(study=study, kind=PredictionSet.Kind.FOLD, fold=family),
                model, environment, fold["predictions"], pool, pool,
            )  # fmt: skip
        panel = record_set(
            PredictionSet(study=study, kind=PredictionSet.Kind.PANEL),
            result["fitted_model"], environment, result["predictions"], targets, pool,
        )  # fmt: skip
        assert panel_set(study) == panel
        return panel, seal_predictions(panel)


def record_set(
    prediction_set: PredictionSet, model: Mapping[str, Any], environment: Mapping[str, Any],
    predictions: Sequence[Mapping[str, Any]], targets: Mapping[str, Configuration],
    donors: Mapping[str, Configuration],
) -> PredictionSet:  # fmt: skip
    """Record a set that was computed here, with its fit before it and its predictions after it."""
    fitted = FittedModel(
        study=prediction_set.study,
        fold=prediction_set.fold,
        parameters=dict(model),
        environment=dict(environment),
    )
    record(fitted)
    prediction_set.fitted_model, prediction_set.source_path = fitted, "computed here"
    record(prediction_set)
    record_all(
        _row(prediction_set, MethodPrediction.from_record(item), targets, donors) for item in predictions
    )
    return prediction_set


def _row(
    prediction_set: PredictionSet, item: MethodPrediction, targets: Mapping[str, Configuration],
    donors: Mapping[str, Configuration],
) -> Prediction:  # fmt: skip
    donor, budget = item.donor_configuration_id, item.startup_budget
    raw = item.peak_only_predicted_state
    return Prediction(
        study=prediction_set.study,
        prediction_set=prediction_set,
        configuration=targets[item.configuration_id],
        method=item.method,
        label=item.predicted_state.value,
        peak_mib=item.predicted_peak_mib,
        donor=donors[donor] if donor else None,
        donor_gpu_count_matches=item.donor_gpu_count_matches,
        peak_only_label=raw.value if raw else "",
        guard_changed_label=item.startup_guard_changed_state,
        guard_applicable=budget.applicable,
        guard_sum_mib=budget.budget_plus_actor_mib,
        guard_predicts_failure=budget.predicts_failure,
        lower_peak_mib=item.interval.low if item.interval else None,
        upper_peak_mib=item.interval.high if item.interval else None,
        remark=item.remark,
    )


def check_inherited(study: Study) -> None:
    """Raise ``ServiceError`` unless an inheriting study has exactly its parent's sealed predictions.

    A study that fits its own passes. The parent's protocol and seal must be the ones that the follow-up's
    protocol and seal name by sha256.
    """
    rules = protocols.rules(study)
    if rules.inheritance is None:
        return
    own, parent = panel_set(study), study.parent
    if parent is None or own is None or own.inherits is None:
        raise ServiceError(f"study {study.slug} inherits predictions, but names no parent's prediction set")
    sealed = own.inherits.seals.order_by("pk").first()
    if sealed is None or sealed.sha256 != rules.inheritance.original_prediction_seal_sha256:
        raise ServiceError(
            f"study {study.slug} inherits seal {rules.inheritance.original_prediction_seal_sha256}, expected "
            f"{sealed.sha256 if sealed else 'a sealed set'} of {parent.slug}"
        )
    base = protocols.base_protocol(parent)
    if base.sha256 != rules.inheritance.original_protocol_sha256:
        raise ServiceError(
            f"study {study.slug} follows protocol {rules.inheritance.original_protocol_sha256}, expected "
            f"{base.sha256} of {parent.slug}"
        )
    try:
        expected = inherit(method_predictions(own.inherits), rules)
    except EstimationError as error:
        raise ServiceError(f"study {study.slug}: {error}") from None
    found = {(item.method, item.configuration_id): item for item in method_predictions(own)}
    for item in expected:
        if found.pop((item.method, item.configuration_id), None) != item:
            raise ServiceError(
                f"study {study.slug}: {item.method} on {item.configuration_id} is not the sealed prediction "
                f"of {rules.inheritance.prediction_origins[item.configuration_id]}"
            )
    for method, configuration_id in found:
        raise ServiceError(f"study {study.slug}: {method} on {configuration_id} has no prediction to inherit")
