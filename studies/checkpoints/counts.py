"""From a checkpoint's tensors to the counts that the volumes need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from studies.checkpoints.tensors import Tensor
from studies.estimation.errors import EstimationError


@dataclass(frozen=True)
class Counts:
    """Counts of floating elements, under the names of a study's model metadata.

    The adapter has two matrices of rank r beside each linear matrix of a layer: r × (inputs + outputs)
    elements. Embeddings and the output head have none.
    """

    floating_checkpoint_elements: int
    floating_checkpoint_bytes: int
    all_linear_layer_adapter_elements: int
    largest_transformer_layer_elements: int
    non_transformer_layer_elements: int
    largest_weight_tensor_elements: int
    tensor_count: int

    def to_record(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)


def count(tensors: Iterable[Tensor], *, lora_rank: int, offender: str) -> Counts:
    """Add up a checkpoint.

    Raises:
        EstimationError: a name given twice, no floating tensor, or none inside a numbered layer.
    """
    layers: Counter[int] = Counter()
    outside = size = adapter = largest = number = 0
    seen: set[str] = set()
    for tensor in tensors:
        if tensor.name in seen:
            raise EstimationError(offender, "tensors", tensor.name, "each tensor once")
        seen.add(tensor.name)
        number += 1
        if not tensor.floating:
            continue
        elements = tensor.elements
        size += tensor.size_bytes
        largest = max(largest, elements)
        if tensor.layer is None:
            outside += elements
        else:
            layers[tensor.layer] += elements
        if tensor.linear:
            adapter += lora_rank * sum(tensor.shape)
    if not layers:
        raise EstimationError(
            offender,
            "tensors",
            sorted(seen)[:3],
            "floating tensors of numbered transformer layers, such as model.layers.0.mlp.down_proj.weight",
        )
    return Counts(
        floating_checkpoint_elements=outside + layers.total(),
        floating_checkpoint_bytes=size,
        all_linear_layer_adapter_elements=adapter,
        largest_transformer_layer_elements=max(layers.values()),
        non_transformer_layer_elements=outside,
        largest_weight_tensor_elements=largest,
        tensor_count=number,
    )
