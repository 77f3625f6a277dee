"""A Hugging Face `config.json`, as the numbers of its architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studies.checkpoints.tensors import BYTES_PER_ELEMENT
from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_boolean, require_text, require_whole

DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
"""`torch_dtype` (newer files: `dtype`) to the name that safetensors gives the type."""

# What the library that wrote the file leaves out where the value is its own default, by model type. Only what
# a published configuration of that type was seen to leave out.
_HEAD_DIM = {"gemma": 256, "gemma2": 256, "gemma3_text": 256, "qwen3": 128}
_KEY_VALUE_HEADS = {"mistral": 8}
_TIED = frozenset({"gemma", "gemma2", "gemma3_text"})


@dataclass(frozen=True)
class ModelConfig:
    """The numbers of an architecture. Counts are plain; `dtype` is a name of the safetensors format.

    Attributes:
        options: `attention_bias`, `mlp_bias`, `qk_layernorm`: which optional tensors each layer has.
    """

    model_type: str
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    tie_word_embeddings: bool
    dtype: str
    options: frozenset[str]

    @property
    def query_size(self) -> int:
        """Width of all query heads together."""
        return self.num_attention_heads * self.head_dim

    @property
    def key_value_size(self) -> int:
        """Width of all key heads together; the values' is the same."""
        return self.num_key_value_heads * self.head_dim


_OPTIONS = ("attention_bias", "mlp_bias", "qk_layernorm")


def parse_config(document: object, offender: str = "config.json") -> ModelConfig:
    """Read a configuration file's JSON value.

    Raises:
        EstimationError: a value that is missing, of another kind, or doesn't fit the others.
    """
    if not isinstance(document, Mapping):
        raise EstimationError(offender, "file", type(document).__name__, "a JSON object")
    kind = require_text(document.get("model_type"), offender, "model_type")

    def whole(field: str, default: int | None = None) -> int:
        value = document.get(field)
        return require_whole(default if value is None else value, offender, field, 1)

    hidden, heads = whole("hidden_size"), whole("num_attention_heads")
    head_dim = whole("head_dim", _HEAD_DIM.get(kind, hidden // heads or None))
    if document.get("head_dim") is None and kind not in _HEAD_DIM and hidden % heads:
        raise EstimationError(offender, "hidden_size", hidden, f"a multiple of num_attention_heads {heads}")
    key_value = whole("num_key_value_heads", _KEY_VALUE_HEADS.get(kind, heads))
    if heads % key_value:
        raise EstimationError(
            offender, "num_key_value_heads", key_value, f"a divisor of num_attention_heads {heads}"
        )
    tied = document.get("tie_word_embeddings")
    return ModelConfig(
        model_type=kind,
        hidden_size=hidden,
        intermediate_size=whole("intermediate_size"),
        num_hidden_layers=whole("num_hidden_layers"),
        num_attention_heads=heads,
        num_key_value_heads=key_value,
        head_dim=head_dim,
        vocab_size=whole("vocab_size"),
        tie_word_embeddings=kind in _TIED
        if tied is None
        else require_boolean(tied, offender, "tie_word_embeddings"),
        dtype=_dtype(document, offender),
        options=frozenset(name for name in _OPTIONS if _chosen(document, name, offender)),
    )


def _dtype(document: Mapping[str, object], offender: str) -> str:
    field = "torch_dtype" if "torch_dtype" in document else "dtype"
    word = document.get(field)
    if not isinstance(word, str) or word not in DTYPES:
        raise EstimationError(offender, "torch_dtype", word, "one of " + ", ".join(DTYPES))
    assert DTYPES[word] in BYTES_PER_ELEMENT
    return DTYPES[word]


def _chosen(document: Mapping[str, object], field: str, offender: str) -> bool:
    value = document.get(field)
    return value is not None and require_boolean(value, offender, field)
