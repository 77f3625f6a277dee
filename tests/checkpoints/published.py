"""Published architectures: the numbers of their `config.json` and the parameter count on their model page.

Sources: `config.json` and the parameter count ("Safetensors · Model size") of each named repository on
https://huggingface.co, as of 2026.
"""

from __future__ import annotations

FIELDS = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "vocab_size",
)  # fmt: skip

# repository: model type, the six numbers, what else the file says, parameters
PARAMETERS: dict[str, tuple[str, tuple[int, ...], dict[str, object], int]] = {
    "Qwen/Qwen2-0.5B": ("qwen2", (896, 4864, 24, 14, 2, 151936), {"tie_word_embeddings": True}, 494_032_768),
    "Qwen/Qwen2.5-1.5B": (
        "qwen2", (1536, 8960, 28, 12, 2, 151936), {"tie_word_embeddings": True}, 1_543_714_304,
    ),
    "Qwen/Qwen2.5-14B": (
        "qwen2", (5120, 13824, 48, 40, 8, 152064), {"tie_word_embeddings": False}, 14_770_033_664,
    ),
    "Qwen/Qwen2.5-32B": (
        "qwen2", (5120, 27648, 64, 40, 8, 152064), {"tie_word_embeddings": False}, 32_763_876_352,
    ),
    "Qwen/Qwen2.5-72B": (
        "qwen2", (8192, 29568, 80, 64, 8, 152064), {"tie_word_embeddings": False}, 72_706_203_648,
    ),
    "Qwen/Qwen3-4B": (
        "qwen3", (2560, 9728, 36, 32, 8, 151936),
        {"tie_word_embeddings": True, "head_dim": 128, "attention_bias": False}, 4_022_468_096,
    ),
    "Qwen/Qwen3-8B": (
        "qwen3", (4096, 12288, 36, 32, 8, 151936),
        {"tie_word_embeddings": False, "head_dim": 128, "attention_bias": False}, 8_190_735_360,
    ),
    "Qwen/Qwen3-32B": (
        "qwen3", (5120, 25600, 64, 64, 8, 151936),
        {"tie_word_embeddings": False, "head_dim": 128, "attention_bias": False}, 32_762_123_264,
    ),
    "meta-llama/Llama-3.1-8B": (
        "llama", (4096, 14336, 32, 32, 8, 128256),
        {"tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False}, 8_030_261_248,
    ),
    "meta-llama/Llama-3.1-70B": (
        "llama", (8192, 28672, 80, 64, 8, 128256), {"tie_word_embeddings": False}, 70_553_706_496,
    ),
    "meta-llama/Llama-3.2-1B": (
        "llama", (2048, 8192, 16, 32, 8, 128256), {"tie_word_embeddings": True, "head_dim": 64},
        1_235_814_400,
    ),
    "meta-llama/Llama-3.2-3B": (
        "llama", (3072, 8192, 28, 24, 8, 128256), {"tie_word_embeddings": True, "head_dim": 128},
        3_212_749_824,
    ),
    "mistralai/Mistral-7B-v0.1": ("mistral", (4096, 14336, 32, 32, 8, 32000), {}, 7_241_732_096),
    "mistralai/Mistral-7B-v0.3": ("mistral", (4096, 14336, 32, 32, 8, 32768), {}, 7_248_023_552),
    "ibm-granite/granite-3.3-8b-instruct": (
        "granite", (4096, 12800, 40, 32, 8, 49159),
        {"tie_word_embeddings": True, "attention_bias": False, "mlp_bias": False}, 8_170_864_640,
    ),
    "microsoft/Phi-3-mini-4k-instruct": (
        "phi3", (3072, 8192, 32, 32, 32, 32064), {"tie_word_embeddings": False}, 3_821_079_552,
    ),
    "microsoft/phi-4": (
        "phi3", (5120, 17920, 40, 40, 10, 100352), {"tie_word_embeddings": False}, 14_659_507_200,
    ),
    "microsoft/phi-2": ("phi", (2560, 10240, 32, 32, 32, 51200), {"qk_layernorm": False}, 2_779_683_840),
    "google/gemma-2b": ("gemma", (2048, 16384, 18, 8, 1, 256000), {"head_dim": 256}, 2_506_172_416),
    "google/gemma-7b": ("gemma", (3072, 24576, 28, 16, 16, 256000), {"head_dim": 256}, 8_537_680_896),
    "google/gemma-2-2b": ("gemma2", (2304, 9216, 26, 8, 4, 256000), {"head_dim": 256}, 2_614_341_888),
    "google/gemma-2-9b": ("gemma2", (3584, 14336, 42, 16, 8, 256000), {"head_dim": 256}, 9_241_705_984),
    "google/gemma-2-27b": ("gemma2", (4608, 36864, 46, 32, 16, 256000), {"head_dim": 128}, 27_227_128_320),
    "google/gemma-3-1b-it": ("gemma3_text", (1152, 6912, 26, 4, 1, 262144), {"head_dim": 256}, 999_885_952),
}  # fmt: skip


def config_of(name: str) -> dict[str, object]:
    """The part of the published `config.json` that counts need."""
    kind, numbers, more, _ = PARAMETERS[name]
    return {"model_type": kind, "torch_dtype": "bfloat16", **dict(zip(FIELDS, numbers, strict=True)), **more}
