"""Seals: whether one came before the first launch and the first outcome, and recording one here."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from rlvram_site.ledger.canonical import digest
from rlvram_site.ledger.models import LedgerStream
from studies.estimation.errors import EstimationError
from studies.estimation.panel import by_method
from studies.models import PredictionSet, Seal, Study
from studies.services import protocols
from studies.services.errors import ServiceError
from studies.services.forecasts import forecasts, panel_set
from studies.services.order import first_launch, first_outcome, sequence_of, sequences


@dataclass(frozen=True)
class SealState:
    """A study's seal and its place in the ledger. Numbers are ledger sequence numbers, None: not there.

    Attributes:
        seal: the first seal over the panel's predictions.
        number, first_launch, first_outcome: places of the seal, the first launch and the first outcome.
        late_predictions: predictions that were added to the sealed set after the seal.
    """

    seal: Seal | None
    number: int | None
    first_launch: int | None
    first_outcome: int | None
    late_predictions: int

    @property
    def prospective(self) -> bool:
        """Whether every prediction was sealed before the first outcome of a target was recorded."""
        if self.number is None or self.late_predictions:
            return False
        return self.first_outcome is None or self.number < self.first_outcome

    @property
    def word(self) -> str:
        """The state in words for a page."""
        if self.number is None:
            return "not sealed"
        if self.late_predictions:
            return f"sealed, but {self.late_predictions} predictions were added afterwards"
        if not self.prospective:
            return "sealed after an outcome was known, so not prospective"
        if self.first_launch is not None and self.first_launch < self.number:
            return "sealed after the first launch and before the first outcome"
        return "sealed before the first launch"


def seal_state(study: Study) -> SealState:
    """The seal over the study's panel, with its place derived from the ledger."""
    prediction_set = panel_set(study)
    seal = prediction_set.seals.order_by("pk").first() if prediction_set else None
    launch, outcome = first_launch(study), first_outcome(study)
    if prediction_set is None or seal is None:
        return SealState(None, None, launch, outcome, 0)
    number = sequence_of(seal)
    late = sum(place > number for place in sequences(prediction_set.predictions.all()).values())
    return SealState(seal, number, launch, outcome, late)


def seal_predictions(prediction_set: PredictionSet, sealed_at: dt.datetime | None = None) -> Seal:
    """Seal a complete prediction set of a panel, binding protocol, amendments and predictions by hash.

    The seal's sha256 is that of its canonical JSON, because it has no file.
    Raises ``ServiceError``: an outcome of a target is recorded already, the set is sealed already, it is no
    panel's, or a method misses a target.
    """
    study = prediction_set.study
    with transaction.atomic():
        # Whoever records an outcome now waits for this lock, so that it cannot come in between.
        LedgerStream.objects.get_or_create(name=study.stream)
        LedgerStream.objects.select_for_update().get(name=study.stream)
        _refuse_late(prediction_set, study)
        base = protocols.base_protocol(study)
        content = {
            "protocol_sha256": base.sha256,
            "amendments_sha256": {
                item.source_path or f"amendment {item.number}": item.sha256 for item in study.amendments.all()
            },
            "input_sha256": {"effective protocol": protocols.effective_sha256(study)},
            "output_sha256": {
                "predictions": digest([item.to_record() for item in forecasts(prediction_set)])
            },
        }
        moment = sealed_at or timezone.now()
        seal = Seal(
            study=study,
            prediction_set=prediction_set,
            sha256=digest({**content, "sealed_at": moment}),
            source_path="recorded here",
            sealed_at=moment,
            **content,
        )
        seal.save()
        return seal


def _refuse_late(prediction_set: PredictionSet, study: Study) -> None:
    if first_outcome(study) is not None:
        raise ServiceError(
            f"study {study.slug} cannot be sealed: an outcome of a target is recorded already, so its "
            "predictions would not be prospective"
        )
    if prediction_set.kind != PredictionSet.Kind.PANEL:
        raise ServiceError(f"{prediction_set}: only a panel's predictions are sealed")
    if Seal.objects.filter(study=study).exists():
        raise ServiceError(f"study {study.slug} is sealed already")
    try:
        by_method(forecasts(prediction_set), protocols.rules(study).target_configuration_ids)
    except EstimationError as error:
        raise ServiceError(f"study {study.slug} cannot be sealed: {error}") from None
