"""Calculator and replay in the browser; figures are those of the public thread OpenPipe/ART #848."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from admission.models import RecordedReplay, Witness
from tests.conftest import ROOT

CALCULATOR, REPLAY = "/admission/calculator/", "/admission/replay/"
HISTORY = (ROOT / "admission/samples/replays/perplexity.json").read_text()
SHAPE = {
    "packed_tokens": 106432, "logical_tokens": 106432, "output_bytes": 0, "hidden_size": 2048, "layers": 40,
    "element_bytes": 2, "experts_per_token": 8,
    "expert_intermediate_size": 512, "tensor_parallel": 1, "context_parallel": 1,
    "expert_parallel": 1, "expert_tensor_parallel": 1,
    "policies": ["base", "base+moe2", "base+moe3", "base+fc1_fc2_stage"],
}  # fmt: skip


def test_the_calculator_opens_with_a_real_shape_under_every_policy(client, db):
    page = client.get(CALCULATOR).content.decode()
    for figure in ("6,713,560,268", "7,672,640,307", "11,508,960,460", "22,058,840,883"):
        assert f"{figure} B" in page


def test_a_typed_shape_is_priced_and_the_deciding_term_is_named(client, db):
    page = client.get(CALCULATOR, SHAPE).content.decode()
    assert "They ask for 6,713,560,268 B (6.252 GiB) to 22,058,840,883 B" in page
    assert "static compute" in page
    assert "expert floor" in page
    assert "106,432 × 2,048 × 2 × 14 = 6,103,236,608 B" in page


def test_usable_memory_brings_a_decision(client, db):
    page = client.get(CALCULATOR, SHAPE | {"usable_bytes": 7_000_000_000}).content.decode()
    assert "3 of 4 policies refuse this shape" in page


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"packed_tokens": "many"}, "Enter a whole number"),
        ({"packed_tokens": -1}, "greater than or equal to 0"),
        ({"packed_tokens": 2**60}, "less than or equal to"),
        ({"layers": ""}, "This field is required"),
        ({"policies": ["free"]}, "free is not one of the available choices"),
        ({"policies": []}, "This field is required"),
        ({"logical_tokens": 0}, "logical_tokens"),
        ({"observed_packed_tokens": 27}, "An observation needs all of its numbers"),
    ],
)
def test_a_shape_that_cannot_be_priced_is_explained_at_its_field(changes, said, client, db):
    answer = client.get(CALCULATOR, SHAPE | changes)
    assert answer.status_code == 400
    assert said in answer.content.decode()


def test_the_replay_opens_with_the_perplexity_history_under_both_update_rules(client, db):
    page = client.get(REPLAY).content.decode()
    assert "independent_maxima refuses 3 and joint_observation refuses 0" in page
    for figure in ("329,391,505,015 B (306.770 GiB)", "414,832,916,326 B (386.343 GiB)"):
        assert figure in page
    assert 'id="replay-chart-data"' in page


def test_a_pasted_history_is_replayed_under_the_chosen_policies(client, db):
    answer = client.post(
        REPLAY, {"document": HISTORY, "policies": ["base", "base+fc1_fc2_stage", "joint_observation"]}
    )
    page = answer.content.decode()
    assert "base refuses 3, base+fc1_fc2_stage refuses 3 and joint_observation refuses 0" in page


def test_an_uploaded_history_is_replayed(client, db):
    file = SimpleUploadedFile("history.json", HISTORY.encode())
    page = client.post(REPLAY, {"file": file, "policies": ["base"]}).content.decode()
    assert "Of 6 candidates, base refuses 3." in page


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("", "Paste a history, or choose a file."),
        ("{", "line 1 column 2"),
        ("[]", "expected"),
        ('{"model": {}, "steps": [{"guess": 1}]}', "hidden_size"),
        (HISTORY.replace('"layers": 40', '"layers": -1'), "layers"),
        ("[" * 50_000, "nested too deeply"),
    ],
)
def test_a_history_that_cannot_be_read_is_explained(document, said, client, db):
    answer = client.post(REPLAY, {"document": document, "policies": ["base"]})
    assert answer.status_code == 400
    assert said in answer.content.decode()


def test_a_history_without_the_width_that_a_policy_needs_is_explained(art_848, staff_client):
    document = json.loads(HISTORY)
    del document["model"]["expert_intermediate_size"]
    form = {"document": json.dumps(document), "policies": ["base", "base+fc2_stage"]}
    for more in ({}, {"witness": Witness.objects.first().pk}):
        answer = staff_client.post(REPLAY, form | more)
        assert answer.status_code == 400
        assert "model.expert_intermediate_size: found nothing" in answer.content.decode()
    assert not RecordedReplay.objects.exists()
    assert staff_client.post(REPLAY, form | {"policies": ["base", "base+moe2"]}).status_code == 200


def test_names_in_a_history_are_shown_as_text(client, db):
    document = json.loads(HISTORY)
    document["steps"][0]["price"]["label"] = (
        "</script><script>alert(1)</script><a href='https://x.example'>x</a>"
    )
    page = client.post(REPLAY, {"document": json.dumps(document), "policies": ["base"]}).content.decode()
    assert "<script>alert" not in page
    assert "<a href='https://x.example'" not in page


def test_staff_can_keep_a_replay_beside_a_witness(art_848, staff_client):
    witness = Witness.objects.get(key="witness-perplexity-17063")
    answer = staff_client.post(
        REPLAY,
        {"document": HISTORY, "policies": ["base", "joint_observation"], "witness": witness.pk},
        follow=True,
    )
    row = RecordedReplay.objects.get()
    assert row.witness == witness
    assert row.results["summary"]["base"]["refused"] == 3
    assert answer.redirect_chain[0][0] == row.get_absolute_url()
    assert "329,391,505,015" in answer.content.decode()
    assert row.title in staff_client.get("/admission/OpenPipe/ART/848/witnesses/").content.decode()


def test_nobody_else_can_keep_one(art_848, reader_client):
    witness = Witness.objects.first()
    form = {"document": HISTORY, "policies": ["base"], "witness": witness.pk}
    assert "Keep the result" not in reader_client.get(REPLAY).content.decode()
    reader_client.post(REPLAY, form)
    assert not RecordedReplay.objects.exists()


def test_characters_that_a_database_refuses_do_not_stop_a_kept_replay(art_848, staff_client):
    document = json.loads(HISTORY)
    document["steps"][0]["price"]["label"] = "a\x00b\ud800"
    form = {"document": json.dumps(document), "policies": ["base"], "witness": Witness.objects.first().pk}
    assert staff_client.post(REPLAY, form).status_code == 302
    assert "\x00" not in str(RecordedReplay.objects.get().document)


CONFIG = {
    "model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_local_experts": 8,
    "num_experts_per_tok": 2, "intermediate_size": 14336, "torch_dtype": "bfloat16",
}  # fmt: skip


def carried_of(page: str) -> str:
    (found,) = re.findall(r'name="carried" value="([^"]*)"', page)
    return html.unescape(found)


@pytest.mark.parametrize("way", ["pasted", "uploaded"])
def test_a_models_sizes_are_read_from_its_config_and_the_rest_stays(way, client, db):
    typed = SHAPE | {
        "packed_tokens": 1_000,
        "logical_tokens": 2_000,
        "usable_bytes": 10**9,
        "tensor_parallel": 2,
    }
    form = {"carried": carried_of(client.get(CALCULATOR, typed).content.decode())}
    text = json.dumps(CONFIG)
    if way == "pasted":
        form["config"] = text
    else:
        form["config_file"] = SimpleUploadedFile("config.json", text.encode())
    answer = client.post(CALCULATOR, form, follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain[0][1] == 302
    assert (
        "The config of mixtral gives hidden size 4,096 (hidden_size), layers 32 (num_hidden_layers)" in page
    )
    assert "width of an expert 14,336 (intermediate_size)" in page
    shown = {name: answer.context["form"][name].value() for name in (*SHAPE, "usable_bytes")}
    assert {name: shown[name] for name in ("hidden_size", "layers", "experts_per_token")} == {
        "hidden_size": "4096", "layers": "32", "experts_per_token": "2",
    }  # fmt: skip
    kept = ("packed_tokens", "logical_tokens", "usable_bytes", "tensor_parallel", "policies")
    assert {name: shown[name] for name in kept} == {
        "packed_tokens": "1000", "logical_tokens": "2000", "usable_bytes": "1000000000",
        "tensor_parallel": "2", "policies": SHAPE["policies"],
    }  # fmt: skip


def test_a_dense_models_config_leaves_no_width_behind(client, db):
    form = {"carried": carried_of(client.get(CALCULATOR, SHAPE).content.decode())}
    dense = {"hidden_size": 4096, "num_hidden_layers": 36, "intermediate_size": 12288, "dtype": "bfloat16"}
    answer = client.post(CALCULATOR, form | {"config": json.dumps(dense)}, follow=True)
    assert "it names no experts: a dense model" in answer.content.decode()
    assert answer.context["form"]["expert_intermediate_size"].value() == ""
    assert answer.context["prices"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({}, "Paste a config.json, or choose a file."),
        ({"config": "{"}, "line 1 column 2"),
        ({"config": "[]"}, "expected a config.json"),
        ({"config": '{"hidden_size": 0, "dtype": "bfloat16"}'}, "hidden_size: found 0"),
        ({"config": "x" * 200_001}, "at most 200000 characters"),
        ({"config_file": SimpleUploadedFile("c.json", b"x" * 200_001)}, "at most 200,000 are read"),
        ({"config_file": SimpleUploadedFile("c.json", b"\xff")}, "UTF-8"),
        ({"config": "{}", "carried": "a=%ZZ&packed_tokens=many&evil=1"}, "hidden_size: found nothing"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_read_is_explained_and_loses_nothing(form, said, client, db):
    carried = carried_of(client.get(CALCULATOR, SHAPE | {"packed_tokens": 777}).content.decode())
    answer = client.post(CALCULATOR, {"carried": carried} | form)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert said in html.unescape(page)
    if "carried" not in form:
        assert answer.context["form"]["packed_tokens"].value() == "777"


def test_what_is_carried_can_name_no_other_field(client, db):
    answer = client.post(CALCULATOR, {"config": json.dumps(CONFIG), "carried": "evil=1&packed_tokens=5"})
    assert "evil" not in answer["Location"]
    assert "packed_tokens=5" in answer["Location"]


def test_a_missing_expert_width_is_asked_for_at_its_field(client, db):
    answer = client.get(CALCULATOR, SHAPE | {"expert_intermediate_size": "", "policies": ["base+fc2_stage"]})
    assert answer.status_code == 400
    assert "found nothing" in str(answer.context["form"].errors["expert_intermediate_size"])
    fine = client.get(CALCULATOR, SHAPE | {"expert_intermediate_size": "", "policies": ["base+moe2"]})
    assert fine.status_code == 200


def test_hybridep_is_priced_with_its_allowance(client, db):
    sizes = {"expert_parallel": 2, "expert_dispatch": "hybridep", "policies": ["base+fc2_stage"]}
    page = client.get(CALCULATOR, SHAPE | sizes).content.decode()
    assert "106,432 × 159,744 B/token" in page
