"""One tensor of a checkpoint, as its header or its family's layout names it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

BYTES_PER_ELEMENT = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
}
"""Floating types of a safetensors header, by the name it gives them. Other types are no floating elements."""

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.([0-9]{1,6})\.")


@dataclass(frozen=True)
class Tensor:
    """A named tensor. `shape` counts elements by axis; `dtype` is a name of the safetensors format."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether its elements are floating-point numbers."""
        return self.dtype in BYTES_PER_ELEMENT

    @property
    def size_bytes(self) -> int:
        """Bytes of a floating tensor, 0 for any other."""
        return self.elements * BYTES_PER_ELEMENT.get(self.dtype, 0)

    @property
    def layer(self) -> int | None:
        """The transformer layer that it belongs to, from 0; None for all outside of them."""
        found = _LAYER.search(self.name)
        return int(found[1]) if found else None

    @property
    def linear(self) -> bool:
        """Whether an adapter over all linear layers adapts it: a matrix inside a transformer layer."""
        return self.layer is not None and len(self.shape) == 2 and self.name.endswith(".weight")
