"""A folder with a model's description, read into the record that studies keep of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rlvram_site.strict_json import JsonError, read_json
from studies.checkpoints.config import ModelConfig, parse_config
from studies.checkpoints.counts import Counts, count
from studies.checkpoints.headers import Header, parse_index, read_header
from studies.checkpoints.layouts import LAYOUTS, tensors_of
from studies.estimation.errors import EstimationError

CONFIG, INDEX = "config.json", "model.safetensors.index.json"
MAX_JSON_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class ModelFiles:
    """What a folder says about a model.

    Attributes:
        config_sha256: of the bytes of `config.json`.
        shard_header_sha256: of each shard's header by file name; empty where only the configuration is there.
        remarks: what the two sources say differently, one sentence each. The headers count.
    """

    config: ModelConfig
    counts: Counts
    config_sha256: str
    shard_header_sha256: dict[str, str]
    remarks: tuple[str, ...] = ()

    @property
    def from_headers(self) -> bool:
        """Whether the counts were read from checkpoint headers, not derived from the family's layout."""
        return bool(self.shard_header_sha256)

    def to_record(self) -> dict[str, object]:
        """The columns of a recorded architecture that the files give."""
        config = self.config
        return {
            **self.counts.to_record(),
            "hidden_size": config.hidden_size,
            "intermediate_size": config.intermediate_size,
            "num_hidden_layers": config.num_hidden_layers,
            "num_attention_heads": config.num_attention_heads,
            "num_key_value_heads": config.num_key_value_heads,
            "head_dim": config.head_dim,
            "vocab_size": config.vocab_size,
            "tie_word_embeddings": config.tie_word_embeddings,
            "config_sha256": self.config_sha256,
            "shard_header_sha256": self.shard_header_sha256,
        }


def model_from_config(content: bytes, *, lora_rank: int, offender: str = CONFIG) -> ModelFiles:
    """A model of a usual family from the bytes of its `config.json` alone.

    Raises:
        EstimationError: a file that can't be read, or a family whose layout is not known here.
    """
    config = parse_config(_json(content, offender), offender)
    counts = count(tensors_of(config, offender), lora_rank=lora_rank, offender=offender)
    return ModelFiles(config, counts, _sha256(content), {})


def read_model(folder: Path, *, lora_rank: int) -> ModelFiles:
    """Read a folder with `config.json` and, where they are there, checkpoint headers.

    The shards that `model.safetensors.index.json` names must all be there, and hold the tensors that it
    says they hold; without an index every `*.safetensors` file of the folder is read.

    Raises:
        EstimationError: a file that is missing or can't be read, with its name.
    """
    content = _bytes(folder / CONFIG)
    headers = _headers(folder)
    if not headers:
        return model_from_config(content, lora_rank=lora_rank)
    config = parse_config(_json(content, CONFIG), CONFIG)
    tensors = [tensor for header in headers.values() for tensor in header.tensors]
    counts = count(tensors, lora_rank=lora_rank, offender="the checkpoint's headers")
    return ModelFiles(
        config,
        counts,
        _sha256(content),
        {name: header.sha256 for name, header in headers.items()},
        tuple(_differences(config, counts, lora_rank)),
    )


def _headers(folder: Path) -> dict[str, Header]:
    shards = sorted(path.name for path in folder.glob("*.safetensors"))
    index = _index(folder)
    if index is not None:
        shards = sorted(set(index.values()))
    headers = {}
    for name in shards:
        try:
            headers[name] = read_header(folder / name)
        except OSError as error:
            raise EstimationError(name, "file", error.strerror, "a file that can be read") from error
    if index is not None:
        _check_index(index, headers)
    return headers


def _index(folder: Path) -> dict[str, str] | None:
    if not (folder / INDEX).exists():
        return None
    return parse_index(_json(_bytes(folder / INDEX), INDEX), INDEX)


def _check_index(index: dict[str, str], headers: dict[str, Header]) -> None:
    found = {tensor.name: name for name, header in headers.items() for tensor in header.tensors}
    for tensor, name in index.items():
        if found.get(tensor) != name:
            raise EstimationError(
                INDEX, f"weight_map.{tensor}", name, f"the file that holds it, {found.get(tensor, 'none')}"
            )
    if unnamed := sorted(found.keys() - index.keys()):
        raise EstimationError(found[unnamed[0]], "tensor", unnamed[0], f"a tensor that {INDEX} names")


def _differences(config: ModelConfig, counts: Counts, lora_rank: int) -> Iterable[str]:
    if config.model_type not in LAYOUTS:
        return
    expected = count(tensors_of(config), lora_rank=lora_rank, offender=CONFIG).to_record()
    for name, value in counts.to_record().items():
        if value != expected[name]:
            yield (
                f"{name} is {value:,} in the headers; a {config.model_type} model of this {CONFIG} "
                f"has {expected[name]:,}. The headers count."
            )


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_JSON_BYTES + 1)
    except OSError as error:
        raise EstimationError(path.name, "file", error.strerror, "a file that can be read") from error
    if len(content) > MAX_JSON_BYTES:
        raise EstimationError(path.name, "size", "more", f"at most {MAX_JSON_BYTES:,} bytes")
    return content


def _json(content: bytes, offender: str) -> object:
    try:
        return read_json(content, offender)
    except JsonError as error:
        raise EstimationError(offender, error.place or "file", error.found, error.expected) from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
