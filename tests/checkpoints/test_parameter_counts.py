"""A configuration file alone gives the published counts, exactly."""

from __future__ import annotations

import json

import pytest

from studies.checkpoints.architecture import model_from_config
from studies.checkpoints.layouts import LAYOUTS
from tests.checkpoints.published import FIELDS, PARAMETERS, config_of

# The four models of the published study: every number of its model metadata (Ondřej Kobza and Jan Šedivý,
# MIT). In order: the six of FIELDS, head_dim, and then COUNTS.
STUDIED = {
    ("qwen2", True): (
        (2048, 11008, 36, 16, 2, 151936), 128,
        (3085938688, 6171877376, 119734272, 77076992, 311164928, 311166976, 434),
    ),
    ("qwen2", False): (
        (3584, 18944, 28, 28, 4, 152064), 128,
        (7615616512, 15231233024, 161480704, 233057792, 544997376, 1089998336, 339),
    ),
    ("granite", True): (
        (2048, 8192, 40, 32, 8, 49159), 64,
        (2533539840, 5067079680, 112721920, 60821504, 100677632, 100679680, 362),
    ),
    ("phi3", True): (
        (3072, 8192, 32, 24, 8, 200064), 128,
        (3836021760, 7672043520, 92274688, 100669440, 614596608, 614599680, 194),
    ),
}  # fmt: skip
COUNTS = (
    "floating_checkpoint_elements",
    "floating_checkpoint_bytes",
    "all_linear_layer_adapter_elements",
    "largest_transformer_layer_elements",
    "largest_weight_tensor_elements",
    "non_transformer_layer_elements",
    "tensor_count",
)


def read(document, lora_rank=64):
    return model_from_config(json.dumps(document).encode(), lora_rank=lora_rank)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_the_published_ones(name):
    assert read(config_of(name)).counts.floating_checkpoint_elements == PARAMETERS[name][-1]


@pytest.mark.parametrize(("kind", "tied"), STUDIED)
def test_every_number_of_a_studied_model(kind, tied):
    numbers, head_dim, counts = STUDIED[kind, tied]
    record = read(
        {
            "model_type": kind,
            "tie_word_embeddings": tied,
            "torch_dtype": "bfloat16",
            **dict(zip(FIELDS, numbers, strict=True)),
        }
    ).to_record()
    assert tuple(record[name] for name in COUNTS) == counts
    assert tuple(record[name] for name in FIELDS) == numbers
    assert record["head_dim"] == head_dim
    assert record["shard_header_sha256"] == {}


def test_every_known_family_has_a_published_model_here():
    assert {row[0] for row in PARAMETERS.values()} == set(LAYOUTS)


def test_an_adapter_of_half_the_rank_has_half_the_elements():
    document = config_of("Qwen/Qwen2.5-14B")
    assert (
        read(document, 64).counts.all_linear_layer_adapter_elements
        == 2 * read(document, 32).counts.all_linear_layer_adapter_elements
    )


def test_bytes_follow_the_type_of_the_elements():
    document = config_of("Qwen/Qwen2.5-14B") | {"torch_dtype": "float32"}
    counts = read(document).counts
    assert counts.floating_checkpoint_bytes == 4 * counts.floating_checkpoint_elements


def test_a_newer_file_names_its_type_dtype():
    document = config_of("Qwen/Qwen3-4B")
    document["dtype"] = document.pop("torch_dtype")
    assert read(document).counts.floating_checkpoint_elements == 4_022_468_096


def test_an_attention_bias_of_the_llama_layout_is_counted():
    document = config_of("meta-llama/Llama-3.1-8B")
    plain, biased = read(document), read(document | {"attention_bias": True})
    per_layer = 4096 + 1024 + 1024 + 4096
    assert (
        biased.counts.floating_checkpoint_elements - plain.counts.floating_checkpoint_elements
        == 32 * per_layer
    )
