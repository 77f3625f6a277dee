"""Folders with a configuration and checkpoint headers; no weight is read."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.checkpoints.architecture import model_from_config, read_model
from studies.checkpoints.config import parse_config
from studies.checkpoints.layouts import tensors_of
from studies.estimation.errors import EstimationError
from tests.checkpoints.published import config_of

NAME = "Qwen/Qwen2-0.5B"


def write_shard(path, tensors, behind=b""):
    rows, offset = {"__metadata__": {"format": "pt"}}, 0
    for tensor in tensors:
        rows[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.size_bytes],
        }
        offset += tensor.size_bytes
    content = json.dumps(rows).encode()
    path.write_bytes(len(content).to_bytes(8, "little") + content + behind)
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path):
    document = config_of(NAME)
    (tmp_path / "config.json").write_text(json.dumps(document))
    tensors = list(tensors_of(parse_config(document)))
    half = len(tensors) // 2
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name, part in zip(names, (tensors[:half], tensors[half:]), strict=True):
        write_shard(tmp_path / name, part)
    index = {tensor.name: names[number >= half] for number, tensor in enumerate(tensors)}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return tmp_path


def test_headers_and_configuration_give_the_same_counts(folder):
    model = read_model(folder, lora_rank=64)
    alone = model_from_config((folder / "config.json").read_bytes(), lora_rank=64)
    assert model.from_headers
    assert not alone.from_headers
    assert model.counts == alone.counts
    assert model.remarks == ()


def test_the_headers_hashes_and_the_configurations_are_kept(folder):
    digest = write_shard(
        folder / "model-00001-of-00002.safetensors",
        list(tensors_of(parse_config(config_of(NAME))))[: 290 // 2],
        behind=b"\0" * 64,
    )
    record = read_model(folder, lora_rank=64).to_record()
    assert record["shard_header_sha256"]["model-00001-of-00002.safetensors"] == digest
    assert record["config_sha256"] == hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()


def test_without_an_index_every_shard_counts(folder):
    (folder / "model.safetensors.index.json").unlink()
    assert read_model(folder, lora_rank=64).counts.floating_checkpoint_elements == 494_032_768


def test_a_checkpoint_that_stores_its_tied_head_counts_it_and_says_so(folder):
    (folder / "model.safetensors.index.json").unlink()
    tensors = list(tensors_of(parse_config(config_of(NAME) | {"tie_word_embeddings": False})))
    write_shard(
        folder / "head.safetensors", [tensor for tensor in tensors if tensor.name.startswith("lm_head")]
    )
    model = read_model(folder, lora_rank=64)
    assert model.counts.floating_checkpoint_elements == 494_032_768 + 151936 * 896
    assert any(
        "floating_checkpoint_elements is 630,167,424 in the headers" in remark for remark in model.remarks
    )


def test_whole_number_tensors_are_no_floating_elements(folder):
    (folder / "model.safetensors.index.json").unlink()
    rows = {"model.layers.0.position": {"dtype": "I64", "shape": [1000], "data_offsets": [0, 8000]}}
    content = json.dumps(rows).encode()
    (folder / "buffers.safetensors").write_bytes(len(content).to_bytes(8, "little") + content)
    counts = read_model(folder, lora_rank=64).counts
    assert (counts.floating_checkpoint_elements, counts.tensor_count) == (494_032_768, 291)


def test_an_unknown_family_needs_its_headers(folder):
    document = config_of(NAME) | {"model_type": "somebodys_own"}
    (folder / "config.json").write_text(json.dumps(document))
    assert read_model(folder, lora_rank=64).counts.floating_checkpoint_elements == 494_032_768
    with pytest.raises(EstimationError, match="model_type is 'somebodys_own', expected one of gemma, "):
        model_from_config((folder / "config.json").read_bytes(), lora_rank=64)


def broken(**changes):
    return json.dumps(config_of(NAME) | changes).encode()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not JSON"),
        (b"[]", "a JSON object"),
        (b'{"hidden_size": 1, "hidden_size": 2}', "stands twice"),
        (broken(model_type=None), "model_type is None"),
        (broken(hidden_size=0), "hidden_size is 0, expected a whole number of at least 1"),
        (broken(hidden_size=True), "hidden_size is True"),
        (broken(hidden_size="896"), "hidden_size is '896'"),
        (broken(num_hidden_layers=None), "num_hidden_layers is None"),
        (broken(num_key_value_heads=3), "num_key_value_heads is 3, expected a divisor"),
        (broken(num_attention_heads=13), "hidden_size is 896, expected a multiple"),
        (broken(vocab_size=-1), "vocab_size is -1"),
        (broken(tie_word_embeddings="yes"), "tie_word_embeddings is 'yes'"),
        (broken(torch_dtype="int4"), "torch_dtype is 'int4', expected one of float64"),
    ],
)
def test_a_broken_configuration_names_field_and_expectation(content, says):
    with pytest.raises(EstimationError, match=says):
        model_from_config(content, lora_rank=64)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "header length is 0"),
        (b"\xff" * 8, "header length"),
        ((50).to_bytes(8, "little") + b"{}", "header is 2, expected 50 bytes; the file is cut off"),
        ((4).to_bytes(8, "little") + b"null", "a JSON object"),
        ((8).to_bytes(8, "little") + b'{"a": 1}', "tensor a is 1"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_named(folder, content, says):
    (folder / "model-00002-of-00002.safetensors").write_bytes(content)
    with pytest.raises(EstimationError, match="model-00002-of-00002.safetensors: .*" + says):
        read_model(folder, lora_rank=64)


def test_a_shard_of_the_index_that_is_missing_is_named(folder):
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(EstimationError, match=r"model-00002-of-00002.safetensors: file is 'No such file"):
        read_model(folder, lora_rank=64)


def test_an_index_that_says_something_else_than_the_shards_is_refused(folder):
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    index["weight_map"]["model.norm.weight"] = "model-00002-of-00002.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(EstimationError, match=r"weight_map.model.norm.weight"):
        read_model(folder, lora_rank=64)


@pytest.mark.parametrize("name", ["../other.safetensors", "/etc/passwd", "weights.bin"])
def test_an_index_cannot_lead_out_of_the_folder(folder, name):
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(EstimationError, match=r"weight_map\.a"):
        read_model(folder, lora_rank=64)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_configuration_get_an_error_with_words(content):
    with pytest.raises(EstimationError, match="expected"):
        model_from_config(content, lora_rank=64)
