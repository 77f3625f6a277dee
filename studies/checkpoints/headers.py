"""The headers of safetensors files: names, types and shapes of the tensors, and nothing of the weights.

A file starts with the header's length in bytes (8 bytes, little-endian), then the header as JSON, as
https://huggingface.co/docs/safetensors describes it. A file cut off behind its header is enough.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rlvram_site.strict_json import JsonError, read_json
from studies.checkpoints.tensors import Tensor
from studies.estimation.errors import EstimationError

MAX_HEADER_BYTES = 32 * 1024 * 1024
"""The format allows 100 MB; the largest published checkpoints have headers below 1 MB a file."""
_LARGEST_AXIS = 2**40


@dataclass(frozen=True)
class Header:
    """One shard's header: its tensors, and the sha256 of its JSON as it stands in the file."""

    sha256: str
    tensors: tuple[Tensor, ...]


def read_header(path: Path) -> Header:
    """Read the header of one file.

    Raises:
        EstimationError: a file that is no safetensors file, or one whose header is cut off.
        OSError: a file that can't be read.
    """
    with path.open("rb") as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= length <= MAX_HEADER_BYTES:
            raise EstimationError(
                path.name, "header length", length, f"8 bytes that give 2 to {MAX_HEADER_BYTES:,} bytes"
            )
        content = file.read(length)
    if len(content) < length:
        raise EstimationError(path.name, "header", len(content), f"{length:,} bytes; the file is cut off")
    return parse_header(content, path.name)


def parse_header(content: bytes, offender: str) -> Header:
    """The header that these JSON bytes are.

    Raises:
        EstimationError: JSON of another form, or a tensor without type and shape.
    """
    try:
        document = read_json(content, offender)
    except JsonError as error:
        raise EstimationError(offender, "header", error.found, error.expected) from error
    if not isinstance(document, Mapping):
        raise EstimationError(offender, "header", type(document).__name__, "a JSON object")
    tensors = tuple(_tensor(name, row, offender) for name, row in document.items() if name != "__metadata__")
    return Header(hashlib.sha256(content).hexdigest(), tensors)


def _tensor(name: str, row: object, offender: str) -> Tensor:
    field = f"tensor {name}"
    if not isinstance(row, Mapping) or not isinstance(row.get("dtype"), str):
        raise EstimationError(offender, field, row, "an object with dtype, shape and data_offsets")
    shape = row.get("shape")
    if not isinstance(shape, list) or not all(
        isinstance(axis, int) and not isinstance(axis, bool) and 0 <= axis <= _LARGEST_AXIS for axis in shape
    ):
        raise EstimationError(offender, field, shape, "a shape: a list of whole numbers of at least 0")
    if math.prod(shape) > _LARGEST_AXIS:
        raise EstimationError(offender, field, shape, f"at most {_LARGEST_AXIS:,} elements")
    return Tensor(name, tuple(shape), str(row["dtype"]))


def parse_index(document: object, offender: str) -> dict[str, str]:
    """The file of each tensor, from a `model.safetensors.index.json`.

    Raises:
        EstimationError: JSON of another form, or a file name that leads elsewhere.
    """
    found = document.get("weight_map") if isinstance(document, Mapping) else None
    if not isinstance(found, Mapping) or not found:
        raise EstimationError(offender, "weight_map", found, "an object of tensor names and file names")
    for tensor, file in found.items():
        if not isinstance(file, str) or "/" in file or "\\" in file or not file.endswith(".safetensors"):
            raise EstimationError(
                offender, f"weight_map.{tensor}", file, "the name of a .safetensors file beside the index"
            )
    return dict(found)
