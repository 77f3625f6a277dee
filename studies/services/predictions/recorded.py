"""Recorded predictions as the estimation package's, and which set is the panel's."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Min

from studies.estimation.interval import Interval
from studies.estimation.labels import parse_answer, parse_label
from studies.estimation.methods import Prediction as MethodPrediction
from studies.estimation.methods import method_classes
from studies.estimation.volumes import StartupBasis, StartupBudget
from studies.models import Configuration, Prediction, PredictionSet, Study


def panel_set(study: Study) -> PredictionSet | None:
    """The panel's prediction set: the first sealed one, or the newest while nothing is sealed."""
    sets = study.predictionsets.filter(kind=PredictionSet.Kind.PANEL)
    return sets.filter(seals__isnull=False).order_by("seals__pk").first() or sets.order_by("-pk").first()


def fold_sets(study: Study) -> list[PredictionSet]:
    """The newest set of each held-out family, by family."""
    sets = (
        study.predictionsets.filter(kind=PredictionSet.Kind.FOLD)
        .order_by("pk")
        .select_related("fitted_model")
    )
    return [item for _, item in sorted({item.fold: item for item in sets}.items())]


def development_sets(study: Study) -> list[PredictionSet]:
    """The newest set of each method in development and each scope: families by name, the panel last."""
    sets = (
        study.predictionsets.filter(kind=PredictionSet.Kind.DEVELOPMENT)
        .annotate(one_method=Min("predictions__method"))
        .exclude(one_method=None)
        .order_by("pk")
        .select_related("fitted_model", "study")
    )
    newest = {(method_of(item), item.fold): item for item in sets}
    order = in_method_order(method for method, _ in newest)
    return sorted(
        newest.values(), key=lambda item: (order.index(method_of(item)), item.fold == "", item.fold)
    )


def method_of(prediction_set: PredictionSet) -> str:
    """The one method that a set of ``development_sets`` has."""
    return prediction_set.one_method  # type: ignore[attr-defined]


def rows_of(prediction_set: PredictionSet, only: Collection[Configuration] | None = None) -> list[Prediction]:
    """The set's predictions with configuration and donor, in recorded order, in one query.

    With ``only``, those for these configurations.
    """
    rows = prediction_set.predictions.select_related("configuration", "donor").order_by("pk")
    return list(rows if only is None else rows.filter(configuration__in=only))


def method_prediction(row: Prediction) -> MethodPrediction:
    """A recorded prediction in the estimation package's form."""
    offender = str(row)
    return MethodPrediction(
        configuration_id=row.configuration.configuration_id,
        method=row.method,
        predicted_state=parse_answer(row.label, offender),
        startup_budget=StartupBudget(
            StartupBasis.RESIDENT_ACTOR if row.guard_applicable else StartupBasis.OFFLOADED_ACTOR,
            row.guard_sum_mib,
            row.guard_predicts_failure,
        ),
        predicted_peak_mib=row.peak_mib,
        donor_configuration_id=row.donor.configuration_id if row.donor else None,
        donor_gpu_count_matches=row.donor_gpu_count_matches,
        peak_only_predicted_state=parse_label(row.peak_only_label, offender) if row.peak_only_label else None,
        startup_guard_changed_state=row.guard_changed_label,
        interval=Interval(row.lower_peak_mib, row.upper_peak_mib) if row.has_interval else None,
        remark=row.remark,
    )


def method_predictions(prediction_set: PredictionSet) -> list[MethodPrediction]:
    """All predictions of a set, in recorded order."""
    return [method_prediction(row) for row in rows_of(prediction_set)]


def in_method_order(names: Iterable[str]) -> list[str]:
    """Method names, each once, as the study's tables order them; unknown ones last, by name."""
    known = {method.name: method.order for method in method_classes()}
    return sorted(set(names), key=lambda name: (known.get(name, max(known.values()) + 1), name))
