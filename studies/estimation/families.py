"""Which architecture family a model belongs to. Folds hold out one family at a time."""

from __future__ import annotations

from studies.estimation.errors import EstimationError

FAMILIES = {
    "Qwen/Qwen2.5-3B-Instruct": "qwen25",
    "Qwen/Qwen2.5-7B-Instruct": "qwen25",
    "microsoft/Phi-4-mini-instruct": "phi4",
    "ibm-granite/granite-3.3-2b-instruct": "granite33",
}


def family_of(model_id: str) -> str:
    """The architecture family of a model.

    Raises:
        EstimationError: a model that the study doesn't place in a family.
    """
    try:
        return FAMILIES[model_id]
    except (KeyError, TypeError):
        raise EstimationError("model", "model_id", model_id, "one of " + ", ".join(FAMILIES)) from None
