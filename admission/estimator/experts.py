"""The expert floor: buffers of a mixture-of-experts layer that are alive together, whatever else is.

Each packed token is routed to K experts, so it has K rows in every such buffer. A buffer is as wide as the
hidden size H or as an expert's intermediate width F, and an element has b bytes:

    bytes per packed token = K x (hidden x H + expert x F) x b
"""

from __future__ import annotations

from dataclasses import dataclass

from .inputs import MAX_WHOLE, InputError, Model, Problem


@dataclass(frozen=True)
class ExpertFloor:
    """Buffers that one correction counts: so many of width H and so many of width F for each routed row."""

    name: str
    hidden: int
    expert: int
    buffers: str


EXPERT_FLOORS: dict[str, ExpertFloor] = {
    floor.name: floor
    for floor in (
        ExpertFloor("moe2", 2, 0, "the two FC2 outputs, base and adapter"),
        ExpertFloor("moe3", 3, 0, "the two FC2 outputs and their sum"),
        ExpertFloor("fc2_stage", 3, 1, "the FC2 input, base, adapter and their sum"),
        ExpertFloor("fc1_fc2_stage", 5, 3, "seven buffers of widths H, H, 2F, F, H, H, H"),
    )
}


def bytes_per_token(model: Model, floor: ExpertFloor | None) -> int | None:
    """Bytes of ``floor`` for each packed token, or None where no floor applies.

    Raises InputError when the floor applies, counts a buffer of width F, and the model doesn't give F.
    """
    numerator, denominator = model.expert_rows_allowance
    if floor is None or not numerator:
        return None
    if floor.expert and model.expert_intermediate_size is None:
        expected = f"a whole number from 1 to {MAX_WHOLE} (2**53), since {floor.name} counts {floor.buffers}"
        raise InputError([Problem("model.expert_intermediate_size", "nothing", expected)])
    width = floor.hidden * model.hidden_size + floor.expert * (model.expert_intermediate_size or 0)
    return model.experts_per_token * width * model.element_bytes * numerator // denominator
