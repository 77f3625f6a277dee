"""Will it fit? Every method answers for a setting that nobody planned, and nothing is recorded."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pytest
from django.contrib.auth import get_user_model

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Configuration, StudyDraft
from studies.services.plan.creating import check
from tests.checkpoints.published import config_of

URL = "/studies/estimation/what-if/"


@pytest.fixture
def question(sample_studies):
    """The settings of a target that the original study planned."""
    target = Configuration.objects.filter(study__slug="estimation", gpu_count=4).order_by("pk")[0]
    names = (
        "workload_id", "configuration_level", "gpu_count", "rollout_tp_size", "actor_micro_batch",
        "rollout_logprob_micro_batch", "ref_logprob_micro_batch", "max_prompt_length", "max_response_length",
        "max_model_len", "rollout_n", "train_batch_size", "vllm_gpu_memory_utilization",
    )  # fmt: skip
    values = {name: getattr(target, name) for name in names} | {"model": target.model_id}
    for name in ("parameter_offload", "optimizer_offload", "free_cache_engine"):
        if getattr(target, name):
            values[name] = "on"
    return target, values


def text_of(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def test_an_empty_form_has_the_settings_of_a_planned_configuration(client, sample_studies):
    answer = client.get(URL)
    assert answer.status_code == 200
    assert "nothing is recorded" in text_of(answer)
    assert answer.context["form"].initial["gpu_count"] > 0


def test_a_planned_setting_gets_the_sealed_predictions_again(client, question):
    target, values = question
    before = LedgerEntry.objects.count()
    answer = client.post(URL, values)
    assert answer.status_code == 200
    said = {view.answer.method: view.answer.prediction for view in answer.context["answers"]}
    for sealed in target.predictions.filter(prediction_set__kind="panel"):
        found = said[sealed.method]
        assert found.predicted_state.value == sealed.label
        assert (found.predicted_peak_mib is None) == (sealed.peak_mib is None)
        if sealed.peak_mib is not None:
            assert found.predicted_peak_mib == pytest.approx(sealed.peak_mib, rel=1e-9)
    assert LedgerEntry.objects.count() == before


def test_the_same_question_as_an_address_can_be_shared(client, question):
    assert client.get(URL, question[1]).status_code == 200


def test_a_rejection_says_which_single_setting_would_change_it(client, question):
    answer = client.post(URL, question[1] | {"vllm_gpu_memory_utilization": 0.9})
    rejecting = [view for view in answer.context["answers"] if not view.answer.prediction.approves]
    assert rejecting
    assert any("instead of 0.9" in view.changes for view in rejecting)
    for view in rejecting:
        for change in view.answer.changes:
            again = client.post(
                URL, question[1] | {"vllm_gpu_memory_utilization": 0.9, change.field: change.after}
            )
            said = {item.answer.method: item.answer.prediction for item in again.context["answers"]}
            assert said[view.answer.method].approves, change


def test_a_pasted_model_is_read_and_forgotten(client, question):
    values = question[1] | {"model": "", "config": json.dumps(config_of("Qwen/Qwen2.5-14B")), "lora_rank": 64}
    answer = client.post(URL, values)
    assert answer.status_code == 200
    text = text_of(answer)
    assert "27.51" in text  # 14,770,033,664 elements of two bytes, GiB
    assert "outside" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpu_count": ""}, "This field is required."),
        ({"gpu_count": "x"}, "Enter a whole number."),
        ({"gpu_count": "9" * 5000}, "Enter a whole number."),
        ({"gpu_count": 3, "rollout_tp_size": 2}, "expected a multiple of rollout_tp_size 2"),
        ({"gpu_count": 0}, "expected a whole number above zero"),
        ({"vllm_gpu_memory_utilization": 2}, "less than or equal to 1"),
        ({"model": "gpt-2"}, "Select a valid choice"),
        ({"model": ""}, "Choose a model, or give the config.json of one."),
        ({"config": "{}"}, "Either this or a model chosen above."),
        ({"model": "", "config": "{", "lora_rank": 64}, "not JSON"),
        ({"model": "", "config": '{"model_type": "mamba"}', "lora_rank": 64}, "hidden_size is None"),
        ({"model": "", "config": "{}", "lora_rank": ""}, "the rank of the adapter"),
    ],
)
def test_a_wrong_value_is_named_and_the_form_keeps_the_others(client, question, changes, says):
    answer = client.post(URL, question[1] | changes)
    assert answer.status_code == 422
    assert says in text_of(answer).replace("&#x27;", "'")
    assert answer.context["form"]["workload_id"].value() == question[1]["workload_id"]


def test_a_table_over_models_gpus_and_shares_has_a_number_for_each(client, question):
    asked = {"as": "table", "gpu_counts": "2, 4", "reservations": "0.3, 0.9"}
    answer = client.post(URL, question[1] | asked)
    assert answer.status_code == 200
    assert re.search(r"(\d+) settings: \d+ models, 2 GPU counts and 2 shares", answer.context["sentence"])
    regression = next(item for item in answer.context["maps"] if item.name == "component regression")
    for _, _, cells in regression.rows:
        assert [cell.gib is not None for cell in cells] == [True, True]
        assert cells[0].gib <= cells[1].gib
    lines = b"".join(client.post(URL, question[1] | asked | {"as": "csv"})).decode().splitlines()
    assert lines[0].startswith("model_id,gpu_count,")
    cells = sum(len(cells) for _, _, cells in regression.rows)
    assert len(lines) == 1 + cells * len(answer.context["maps"])


def test_another_device_is_asked_only_of_methods_that_predict_peaks(client, question):
    limits = {"device_capacity_mib": 81_559, "margin_limit_mib": 77_000}
    answer = client.post(URL, question[1] | limits)
    said = {view.answer.method: view.answer for view in answer.context["answers"]}
    assert "no other limits" in said["donor_copy"].refused
    assert said["component_regression"].prediction.approves


def test_an_answer_becomes_a_folder_that_the_check_accepts(client, question, tmp_path):
    pasted = {"model": "", "config": json.dumps(config_of("Qwen/Qwen2.5-14B")), "lora_rank": 64}
    for number, changes in enumerate(({}, pasted)):
        answer = client.post(URL, question[1] | changes | {"as": "folder"})
        assert answer["Content-Type"] == "application/zip"
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            archive.extractall(tmp_path / str(number))
        directory, problems = check(tmp_path / str(number) / "estimation-question")
        assert problems == []
        assert [row.settings.gpu_count for row in directory.rows] == [question[1]["gpu_count"]]


def test_an_answer_becomes_a_draft_of_whoever_may_begin_studies(client, question):
    sent = question[1] | {"as": "draft"}
    assert client.post(URL, sent).status_code == 403
    client.force_login(get_user_model().objects.create_user("ada", password="x", is_staff=True))
    assert client.get(URL, sent).status_code == 200
    assert not StudyDraft.objects.exists()
    draft = client.post(URL, sent)["Location"]
    assert "Nothing is missing" in text_of(client.get(draft))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gpu_counts": "two"}, "Numbers, separated by commas."),
        ({"gpu_counts": "2, 2"}, "Different numbers above zero."),
        ({"reservations": "nan"}, "Different numbers above zero."),
        ({"gpu_counts": " ".join(map(str, range(1, 65)))}, "expected at most 500"),
    ],
)
def test_a_table_that_cannot_be_made_is_refused(client, question, changes, says):
    answer = client.post(URL, question[1] | {"as": "table"} | changes)
    assert answer.status_code == 422
    assert says in text_of(answer)


def test_offloading_moves_what_stays_on_the_device_to_the_host(client, question):
    asked = client.post(URL, question[1]).context["asked"]
    nothing, optimizer, parameters, both = asked.offloads
    assert nothing.host_gib == 0
    assert both.resident_gib == 0
    gpus = question[1]["gpu_count"]
    for item in (optimizer, parameters, both):
        assert item.resident_gib + item.host_gib / gpus == pytest.approx(nothing.resident_gib)


def test_a_follow_up_says_whom_to_ask(client, question):
    answer = client.post("/studies/host-capacity/what-if/", question[1])
    assert "ask the study that it follows" in text_of(answer)
