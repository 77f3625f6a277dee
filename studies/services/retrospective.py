"""The recorded scores of the held-out families, as a page shows them."""

from __future__ import annotations

from typing import Any

from studies.models import Evaluation, PredictionSet, Study
from studies.services.forecasts import in_method_order


def recorded_folds(study: Study) -> dict[str, dict[str, Any]]:
    """Each family's newest recorded scores by method, in the study's order; empty without any."""
    evaluations = Evaluation.objects.filter(
        study=study, prediction_set__kind=PredictionSet.Kind.FOLD
    ).select_related("prediction_set")
    newest: dict[str, dict[str, Any]] = {
        item.prediction_set.fold: item.result["scores"] for item in evaluations.order_by("pk")
    }
    # A database may keep the keys of an object in any order; ours is the study's.
    return {
        family: {method: scores[method] for method in in_method_order(scores)}
        for family, scores in sorted(newest.items())
    }
