"""Which tensors the checkpoint of a usual family has, from its configuration alone.

The names and shapes are those of the families' published checkpoints; `tests/checkpoints` holds the published
parameter counts that they must give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from studies.checkpoints.config import ModelConfig
from studies.checkpoints.tensors import Tensor
from studies.estimation.errors import EstimationError

Shapes = dict[str, tuple[int, ...]]


def _matrix(name: str, outputs: int, inputs: int, bias: bool = False) -> Shapes:
    shapes: Shapes = {f"{name}.weight": (outputs, inputs)}
    if bias:
        shapes[f"{name}.bias"] = (outputs,)
    return shapes


def _norm(name: str, width: int, bias: bool = False) -> Shapes:
    shapes: Shapes = {f"{name}.weight": (width,)}
    return shapes | ({f"{name}.bias": (width,)} if bias else {})


def _attention(config: ModelConfig, *, qkv_bias: bool, output_bias: bool) -> Shapes:
    hidden = config.hidden_size
    return (
        _matrix("self_attn.q_proj", config.query_size, hidden, qkv_bias)
        | _matrix("self_attn.k_proj", config.key_value_size, hidden, qkv_bias)
        | _matrix("self_attn.v_proj", config.key_value_size, hidden, qkv_bias)
        | _matrix("self_attn.o_proj", hidden, config.query_size, output_bias)
    )


def _gated_mlp(config: ModelConfig) -> Shapes:
    hidden, middle, bias = config.hidden_size, config.intermediate_size, "mlp_bias" in config.options
    return (
        _matrix("mlp.gate_proj", middle, hidden, bias)
        | _matrix("mlp.up_proj", middle, hidden, bias)
        | _matrix("mlp.down_proj", hidden, middle, bias)
    )


def _norms(config: ModelConfig, *names: str) -> Shapes:
    return {f"{name}.weight": (config.hidden_size,) for name in names}


_TWO_NORMS = ("input_layernorm", "post_attention_layernorm")
_FOUR_NORMS = (*_TWO_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


def _llama(config: ModelConfig) -> Shapes:
    bias = "attention_bias" in config.options
    attention = _attention(config, qkv_bias=bias, output_bias=bias)
    return attention | _gated_mlp(config) | _norms(config, *_TWO_NORMS)


def _qwen2(config: ModelConfig) -> Shapes:
    attention = _attention(config, qkv_bias=True, output_bias=False)
    return attention | _gated_mlp(config) | _norms(config, *_TWO_NORMS)


def _query_key_norms(config: ModelConfig) -> Shapes:
    return _norm("self_attn.q_norm", config.head_dim) | _norm("self_attn.k_norm", config.head_dim)


def _qwen3(config: ModelConfig) -> Shapes:
    return _llama(config) | _query_key_norms(config)


def _gemma2(config: ModelConfig) -> Shapes:
    return _llama(config) | _norms(config, *_FOUR_NORMS)


def _gemma3(config: ModelConfig) -> Shapes:
    return _gemma2(config) | _query_key_norms(config)


def _phi3(config: ModelConfig) -> Shapes:
    hidden, middle = config.hidden_size, config.intermediate_size
    return (
        _matrix("self_attn.qkv_proj", config.query_size + 2 * config.key_value_size, hidden)
        | _matrix("self_attn.o_proj", hidden, config.query_size)
        | _matrix("mlp.gate_up_proj", 2 * middle, hidden)
        | _matrix("mlp.down_proj", hidden, middle)
        | _norms(config, *_TWO_NORMS)
    )


def _phi(config: ModelConfig) -> Shapes:
    hidden, middle = config.hidden_size, config.intermediate_size
    shapes = (
        _matrix("self_attn.q_proj", config.query_size, hidden, True)
        | _matrix("self_attn.k_proj", config.key_value_size, hidden, True)
        | _matrix("self_attn.v_proj", config.key_value_size, hidden, True)
        | _matrix("self_attn.dense", hidden, config.query_size, True)
        | _matrix("mlp.fc1", middle, hidden, True)
        | _matrix("mlp.fc2", hidden, middle, True)
        | _norm("input_layernorm", hidden, True)
    )
    if "qk_layernorm" in config.options:
        shapes |= _norm("self_attn.q_layernorm", config.head_dim, True)
        shapes |= _norm("self_attn.k_layernorm", config.head_dim, True)
    return shapes


def _outside(config: ModelConfig) -> Shapes:
    shapes: Shapes = {"model.embed_tokens.weight": (config.vocab_size, config.hidden_size)}
    if config.model_type == "phi":
        shapes |= _norm("model.final_layernorm", config.hidden_size, True)
    else:
        shapes |= _norm("model.norm", config.hidden_size)
    if not config.tie_word_embeddings:
        shapes |= _matrix("lm_head", config.vocab_size, config.hidden_size, config.model_type == "phi")
    return shapes


LAYOUTS: Mapping[str, Callable[[ModelConfig], Shapes]] = {
    "gemma": _llama,
    "gemma2": _gemma2,
    "gemma3_text": _gemma3,
    "granite": _llama,
    "llama": _llama,
    "mistral": _llama,
    "phi": _phi,
    "phi3": _phi3,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
}
"""The tensors of one transformer layer, by `model_type`."""


def tensors_of(config: ModelConfig, offender: str = "config.json") -> Iterator[Tensor]:
    """Every tensor that a checkpoint of this configuration has.

    Raises:
        EstimationError: a model type whose layout is not known here.
    """
    if config.model_type not in LAYOUTS:
        raise EstimationError(
            offender,
            "model_type",
            config.model_type,
            "one of " + ", ".join(LAYOUTS) + ", or the headers of the checkpoint beside the file",
        )
    return _tensors(config)


def _tensors(config: ModelConfig) -> Iterator[Tensor]:
    for name, shape in _outside(config).items():
        yield Tensor(name, shape, config.dtype)
    layer = LAYOUTS[config.model_type](config)
    for number in range(config.num_hidden_layers):
        for name, shape in layer.items():
            yield Tensor(f"model.layers.{number}.{name}", shape, config.dtype)
