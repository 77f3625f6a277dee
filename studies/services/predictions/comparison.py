"""Two predictions of each target side by side: of two methods, or of two prediction sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


@dataclass(frozen=True)
class PairKeys:
    """A pair by its target's id, with the primary keys of its predictions; None where a side has none."""

    name: str
    left: int | None
    right: int | None
    differs: bool

    @property
    def shared(self) -> bool:
        """Both sides predict it."""
        return self.left is not None and self.right is not None


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


def compare(left: Choice, right: Choice) -> list[PairKeys]:
    """All targets of both sides, those that differ first, then by id.

    Targets are matched by configuration; a follow-up's target is matched to the one it inherits from.
    """
    sides = [_labels(left), _labels(right)]
    origins = _origins(left, right)
    if origins:
        sides = [{origins.get(name, name): item for name, item in side.items()} for side in sides]
    nothing = (None, None)
    found = []
    for name in sides[0].keys() | sides[1].keys():
        (one, first), (other, second) = sides[0].get(name, nothing), sides[1].get(name, nothing)
        found.append(PairKeys(name, one, other, first is None or second is None or first != second))
    return sorted(found, key=lambda pair: (not pair.differs, pair.name))


def load_pairs(keys: Iterable[PairKeys]) -> list[Pair]:
    """These pairs with their predictions, in the same order."""
    wanted = list(keys)
    rows = Prediction.objects.select_related(
        "configuration__study", "configuration__pool", "donor__pool", "donor__study"
    ).in_bulk([pk for key in wanted for pk in (key.left, key.right) if pk is not None])
    return [_pair(rows.get(key.left or 0), rows.get(key.right or 0)) for key in wanted]


def _pair(left: Prediction | None, right: Prediction | None) -> Pair:
    shown = left or right
    assert shown is not None
    return Pair(shown.configuration, left, right)


def _labels(side: Choice) -> dict[str, tuple[int, str]]:
    """Primary key and label of a side's predictions by their target's id."""
    rows = Prediction.objects.filter(prediction_set=side.prediction_set, method=side.method)
    return {
        name: (pk, label)
        for name, pk, label in rows.order_by().values_list("configuration__configuration_id", "pk", "label")
    }


def _origins(left: Choice, right: Choice) -> Mapping[str, str]:
    """Follow-up's targets by the target that each inherits from, where one side inherits from the other."""
    for one, other in ((left, right), (right, left)):
        if one.prediction_set.inherits_id == other.prediction_set.pk:
            return one.prediction_set.origins
    return {}
