"""The recorded scores of the held-out families, as a page shows them."""

from __future__ import annotations

from typing import Any

from studies.models import Evaluation, PredictionSet, Study


def recorded_folds(study: Study) -> dict[str, dict[str, Any]]:
    """Each family's newest recorded scores by method, by family. One query; empty where nothing was held out."""
    evaluations = Evaluation.objects.filter(
        study=study, prediction_set__kind=PredictionSet.Kind.FOLD
    ).select_related("prediction_set")
    newest = {item.prediction_set.fold: item.result["scores"] for item in evaluations.order_by("pk")}
    return dict(sorted(newest.items()))
