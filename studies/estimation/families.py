"""Which architecture family a model belongs to. Folds hold out one family at a time.

A family is a recorded fact of a model's architecture. The published study stated the families of its four
models beside its data, so for those four a record without a family means the published one.
"""

from __future__ import annotations

PUBLISHED = {
    "Qwen/Qwen2.5-3B-Instruct": "qwen25",
    "Qwen/Qwen2.5-7B-Instruct": "qwen25",
    "microsoft/Phi-4-mini-instruct": "phi4",
    "ibm-granite/granite-3.3-2b-instruct": "granite33",
}
"""Families of the published study, whose records have none of their own."""


def family_of(model_id: str, recorded: str | None = None) -> str:
    """The family of a model: the recorded one, else the published study's.

    A model of which neither is known is a family of its own under its own id, so that it is never put
    together with another one.
    """
    return recorded or PUBLISHED.get(model_id, model_id)
