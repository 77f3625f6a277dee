"""Sizes read from a Hugging Face ``config.json``: many families, one model, and wrong files in words.

Each config below holds only the published keys that matter here, as the family names them.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.estimator import InputError, read_config, read_model, replay

from .test_replay_command import manage, run
from .worlds import DATA, example

QWEN35 = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "hidden_size": 2048, "num_hidden_layers": 40, "num_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 512, "dtype": "bfloat16",
    },
}  # fmt: skip
BF16 = {"torch_dtype": "bfloat16"}

FAMILIES = {
    "Qwen3.5-35B-A3B, in a multimodal config": (QWEN35, (2048, 40, 2, 8, 512)),
    "Qwen3-30B-A3B": (
        {"hidden_size": 2048, "num_hidden_layers": 48, "num_experts": 128, "num_experts_per_tok": 8,
         "moe_intermediate_size": 768, "intermediate_size": 6144, **BF16},
        (2048, 48, 2, 8, 768),
    ),
    "Mixtral-8x7B, whose experts have the common key": (
        {"hidden_size": 4096, "num_hidden_layers": 32, "num_local_experts": 8, "num_experts_per_tok": 2,
         "intermediate_size": 14336, **BF16},
        (4096, 32, 2, 2, 14336),
    ),
    "OLMoE-1B-7B": (
        {"hidden_size": 2048, "num_hidden_layers": 16, "num_experts": 64, "num_experts_per_tok": 8,
         "intermediate_size": 1024, **BF16},
        (2048, 16, 2, 8, 1024),
    ),
    "DeepSeek-V3": (
        {"hidden_size": 7168, "num_hidden_layers": 61, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "intermediate_size": 18432, **BF16},
        (7168, 61, 2, 8, 2048),
    ),
    "gpt-oss-20b, which says its routing twice": (
        {"hidden_size": 2880, "num_hidden_layers": 24, "num_local_experts": 32, "num_experts_per_tok": 4,
         "experts_per_token": 4, "intermediate_size": 2880, **BF16},
        (2880, 24, 2, 4, 2880),
    ),
    "DBRX, with experts in an object of their own": (
        {"d_model": 6144, "n_layers": 40, "torch_dtype": "bfloat16",
         "ffn_config": {"moe_num_experts": 16, "moe_top_k": 4, "ffn_hidden_size": 10752}},
        (6144, 40, 2, 4, 10752),
    ),
    "Llama-4-Scout": (
        {"torch_dtype": "bfloat16",
         "text_config": {"hidden_size": 5120, "num_hidden_layers": 48, "num_local_experts": 16,
                         "num_experts_per_tok": 1, "intermediate_size": 8192}},
        (5120, 48, 2, 1, 8192),
    ),
    "ERNIE-4.5-21B-A3B": (
        {"hidden_size": 2560, "num_hidden_layers": 28, "moe_num_experts": 64, "moe_k": 6,
         "moe_intermediate_size": 1536, "intermediate_size": 12288, **BF16},
        (2560, 28, 2, 6, 1536),
    ),
    "a family with one number per layer": (
        {"hidden_size": 4096, "num_hidden_layers": 4, "num_experts": 64, "moe_topk": [1, 8, 8, 8],
         "moe_intermediate_size": [3072, 3072, 3072, 4096], "torch_dtype": "torch.float16"},
        (4096, 4, 2, 8, 4096),
    ),
    "a dense model": (
        {"hidden_size": 4096, "num_hidden_layers": 36, "intermediate_size": 12288, "dtype": "float32"},
        (4096, 36, 4, 0, None),
    ),
}  # fmt: skip
SIZES = ("hidden_size", "layers", "element_bytes", "experts_per_token", "expert_intermediate_size")


@pytest.mark.parametrize(("config", "sizes"), FAMILIES.values(), ids=FAMILIES)
def test_a_familys_sizes_are_read_from_its_own_keys(config, sizes):
    model = read_model({"config": config})
    assert tuple(getattr(model, name) for name in SIZES) == sizes


def test_each_size_says_where_it_was_read():
    found = read_config(QWEN35)
    assert found.family == "qwen3_5_moe"
    assert found.read_from["expert_intermediate_size"] == "text_config.moe_intermediate_size"
    assert found.read_from["element_bytes"] == "text_config.dtype"


def test_what_stands_beside_a_config_is_used_instead():
    model = read_model({"config": QWEN35, "element_bytes": 4, "expert_parallel": 2})
    assert (model.element_bytes, model.dtype, model.expert_parallel, model.layers) == (4, None, 2, 40)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": None}, "model.config.hidden_size: found nothing; expected this key, or d_model"),
        ({"num_hidden_layers": "40"}, "model.config.num_hidden_layers: found '40'; expected a whole number"),
        ({"num_experts_per_tok": None}, "model.config.num_experts_per_tok: found nothing"),
        ({"torch_dtype": None}, "model.config.torch_dtype: found nothing; expected this key, or dtype"),
        ({"torch_dtype": "auto"}, "model.config.torch_dtype: found 'auto'; expected one of bfloat16"),
        ({"d_model": 1024}, "model.config.d_model: found 1024; expected the same as hidden_size = 2048"),
        ({"moe_intermediate_size": [512, -1]}, "model.config.moe_intermediate_size: found -1"),
    ],
)
def test_a_config_that_cannot_be_read_names_the_key_and_what_was_expected(change, said):
    config = {**FAMILIES["Qwen3-30B-A3B"][0], **change}
    with pytest.raises(InputError) as caught:
        read_model({"config": config})
    assert any(str(problem).startswith(said) for problem in caught.value.problems), caught.value


@pytest.mark.parametrize("config", [None, [], "x", 3])
def test_what_is_no_config_at_all_is_told_so(config):
    with pytest.raises(InputError, match=r"model.config: found .*; expected a config.json"):
        read_model({"config": config})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["text_config", "ffn_config", "hidden_size", "d_model", "num_experts", "moe_topk"]
            ),
            inner,
        )
    ),
    max_leaves=10,
)


@given(JSON)
def test_anything_else_is_refused_with_a_printable_reason(value):
    with pytest.raises(InputError) as caught:
        read_config(value)
    assert all(str(problem).isprintable() for problem in caught.value.problems)


def test_a_replay_file_may_hold_a_config_instead_of_sizes():
    document = example()
    document["model"] = {"config": QWEN35}
    assert replay(document, "fc2_stage") == replay(example(), "fc2_stage")


def test_the_command_takes_another_models_config(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(FAMILIES["Mixtral-8x7B, whose experts have the common key"][0]))
    arguments = (str(DATA / "example.json"), "--policies", "fc2_stage", "--format", "json")
    own, other = (
        json.loads(run(*arguments, *more))["policies"]["fc2_stage"][0]
        for more in ((), ("--model-config", str(config)))
    )
    assert own["moe_floor_bytes_per_token"] == 106_496
    assert other["moe_floor_bytes_per_token"] == 2 * (14_336 + 3 * 4_096) * 2


def test_the_command_needs_no_sizes_in_the_file_then(tmp_path):
    config, history = tmp_path / "config.json", tmp_path / "history.json"
    config.write_text(json.dumps(QWEN35))
    history.write_text(json.dumps({"steps": example()["steps"]}))
    assert "329,391,505,015" in run(str(history), "--model-config", str(config))


def test_a_wrong_config_is_told_by_the_command(tmp_path):
    config = tmp_path / "config.json"
    config.write_text("{}")
    done = manage(str(DATA / "example.json"), "--model-config", str(config))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"model.config.hidden_size: found nothing" in done.stderr


def test_a_missing_width_is_told_by_the_command():
    document = example()
    del document["model"]["expert_intermediate_size"]
    done = manage("-", "--policies", "base,fc1_fc2_stage", stdin=json.dumps(document).encode())
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"model.expert_intermediate_size: found nothing; expected a whole number" in done.stderr
