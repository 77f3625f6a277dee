"""Two predictions of each target side by side: of two methods, or of two prediction sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Min, Q

from studies.models import Configuration, Prediction, PredictionSet, Study


@dataclass(frozen=True)
class Choice:
    """One side of a comparison: all predictions of one method in one set."""

    prediction_set: PredictionSet
    method: str

    @property
    def key(self) -> str:
        """How an address names it."""
        return f"{self.prediction_set.pk}-{self.method}"


@dataclass(frozen=True)
class Pair:
    """What both sides predict for one target. At least one side has a prediction."""

    configuration: Configuration
    left: Prediction | None
    right: Prediction | None

    @property
    def differs(self) -> bool:
        """The two predict different labels, or only one of them predicts at all."""
        if self.left is None or self.right is None:
            return True
        return self.left.label != self.right.label


def choices(study: Study) -> list[Choice]:
    """Every method of every set of the study, its parent and its follow-ups; the study's own panel first."""
    near = Q(study=study) | Q(study__parent=study)
    if study.parent_id:
        near |= Q(study=study.parent_id)
    sets = {
        found.pk: found
        for found in PredictionSet.objects.filter(near).select_related("study", "inherits").order_by("pk")
    }
    methods = (
        Prediction.objects.filter(prediction_set__in=sets)
        .values("prediction_set_id", "method")
        .annotate(first=Min("pk"))
        .order_by("prediction_set_id", "first")
    )
    found = [Choice(sets[row["prediction_set_id"]], row["method"]) for row in methods]
    return sorted(
        found,
        key=lambda choice: (
            choice.prediction_set.study_id != study.pk,
            choice.prediction_set.kind != PredictionSet.Kind.PANEL,
            choice.prediction_set.fold,
        ),
    )


def compare(left: Choice, right: Choice) -> list[Pair]:
    """All targets of both sides, those that differ first, then by id.

    Targets are matched by configuration; a follow-up's target is matched to the one it inherits from.
    """
    sides = [_predictions(left), _predictions(right)]
    origins = _origins(left, right)
    if origins:
        sides = [{origins.get(name, name): item for name, item in side.items()} for side in sides]
    names = sorted(set(sides[0]) | set(sides[1]))
    pairs = [_pair(sides[0].get(name), sides[1].get(name)) for name in names]
    return sorted(pairs, key=lambda pair: (not pair.differs, pair.configuration.configuration_id))


def _pair(left: Prediction | None, right: Prediction | None) -> Pair:
    shown = left or right
    assert shown is not None
    return Pair(shown.configuration, left, right)


def _predictions(side: Choice) -> dict[str, Prediction]:
    rows = Prediction.objects.filter(prediction_set=side.prediction_set, method=side.method).select_related(
        "configuration__study", "configuration__pool", "donor__pool", "donor__study"
    )
    return {row.configuration.configuration_id: row for row in rows}


def _origins(left: Choice, right: Choice) -> Mapping[str, str]:
    """Follow-up's targets by the target that each inherits from, where one side inherits from the other."""
    for one, other in ((left, right), (right, left)):
        if one.prediction_set.inherits_id == other.prediction_set.pk:
            return one.prediction_set.origins
    return {}


def shared(pairs: list[Pair]) -> Iterator[Pair]:
    """The pairs that both sides predict."""
    return (pair for pair in pairs if pair.left is not None and pair.right is not None)
