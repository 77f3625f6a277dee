"""Pricing through the API: the published figures, and the same answers as the command line."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from admission.estimator import QWEN_35B_A3B, SHAPES
from tests.api.conftest import key_for
from tests.conftest import ROOT

PERPLEXITY = ROOT / "admission" / "samples" / "replays" / "perplexity.json"
MODEL = {name: value for name, value in vars(QWEN_35B_A3B).items() if value is not None}
PRESSURED = next(shape for shape in SHAPES if shape.name == "pressured-cold")


@pytest.fixture
def reader(db):
    return key_for("read")


def test_the_pressured_cold_admission_has_its_published_price(reader):
    # OpenPipe/ART #848: admitted cold at 4,092,810,444 B with a floor of two, of 4,652,784,333 B usable.
    sent = {"model": MODEL, "forward": vars(PRESSURED.forward), "usable_bytes": 4_652_784_333,
            "policies": ["base+moe2", "base+fc1_fc2_stage"]}  # fmt: skip
    two, seven = reader.post("admission/prices/", sent).json()["prices"]
    assert (two["required_bytes"], two["decision"]) == (4_092_810_444, "admitted")
    assert (seven["required_bytes"], seven["decision"]) == (10_307_970_252, "refused")
    assert two["formula"]


def test_without_usable_memory_there_is_no_decision(reader):
    (price,) = reader.post("admission/prices/", {"model": MODEL, "forward": vars(PRESSURED.forward)}).json()[
        "prices"
    ]
    assert (price["decision"], price["usable_bytes"], price["margin_bytes"]) == (None, None, None)


def test_observations_make_a_price_trusted(reader):
    seen = {"packed_tokens": 27, "logical_tokens": 27, "output_bytes": 108,
            "baseline_bytes": 69_674_556_928, "peak_bytes": 70_148_392_960}  # fmt: skip
    found = []
    for tokens in (216, 217):  # eight times what was observed, and one more
        forward = {"packed_tokens": tokens, "logical_tokens": tokens, "output_bytes": 0}
        sent = {"model": MODEL, "forward": forward, "observations": [seen]}
        found.append(reader.post("admission/prices/", sent).json()["prices"][0]["trusted"])
    assert found == [True, False]


def test_a_replay_answers_what_the_command_line_prints(reader):
    policies = ["independent_maxima", "joint_observation"]
    sent = {"document": json.loads(PERPLEXITY.read_text()), "policies": policies}
    answer = reader.post("admission/replay/", sent)
    assert answer.status_code == 200, answer.content
    out = StringIO()
    call_command(
        "replay_admission", str(PERPLEXITY), "--policies", ",".join(policies), "--format", "json", stdout=out
    )
    assert answer.json() == json.loads(out.getvalue())
    summary = answer.json()["summary"]
    assert summary["independent_maxima"]["refused"] > summary["joint_observation"]["refused"]


CONFIG = {
    "text_config": {
        "hidden_size": 2048, "num_hidden_layers": 40, "num_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 512, "dtype": "bfloat16",
    }
}  # fmt: skip
FORWARD = {"packed_tokens": 45_981, "logical_tokens": 172_687, "output_bytes": 707_325_952}


def test_a_models_sizes_may_come_from_its_config(reader):
    sent = {"model": {"config": CONFIG}, "forward": FORWARD, "policies": ["fc2_stage"]}
    (price,) = reader.post("admission/prices/", sent).json()["prices"]
    assert price["required_bytes"] == 6_164_530_380
    document = {**json.loads(PERPLEXITY.read_text()), "model": {"config": CONFIG}}
    replayed = reader.post("admission/replay/", {"document": document, "policies": ["fc2_stage"]})
    assert replayed.status_code == 200


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ({}, "model.hidden_size"),
        ({"hidden_size": 2048, "layers": 40, "element_bytes": 2}, "model.experts_per_token"),
        ({"hidden_size": 2048, "layers": 40, "element_bytes": 2, "experts_per_token": 8},
         "model.expert_intermediate_size"),
        ({"config": {"hidden_size": 2048}}, "model.config.num_hidden_layers"),
        ({"config": CONFIG, "dtype": "fp8"}, "model.dtype"),
    ],
)  # fmt: skip
def test_a_size_that_is_missing_or_contradicts_is_named(model, field, reader):
    answer = reader.post("admission/prices/", {"model": model, "forward": FORWARD, "policies": ["fc2_stage"]})
    assert answer.status_code == 400
    assert field in answer.content.decode()


def test_a_replays_missing_width_is_named(reader):
    document = json.loads(PERPLEXITY.read_text())
    del document["model"]["expert_intermediate_size"]
    answer = reader.post("admission/replay/", {"document": document, "policies": ["base", "fc2_stage"]})
    assert answer.status_code == 400
    assert "document.model.expert_intermediate_size" in answer.content.decode()
    assert reader.post("admission/replay/", {"document": document, "policies": ["moe2"]}).status_code == 200
