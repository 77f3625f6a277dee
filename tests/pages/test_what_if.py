"""Will it fit? Every method answers for a setting that nobody planned, and nothing is recorded."""

from __future__ import annotations

import json
import re

import pytest

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Configuration
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
        ({"model": ""}, "Choose a model, or paste the config.json of one."),
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


def test_a_follow_up_says_whom_to_ask(client, question):
    answer = client.post("/studies/host-capacity/what-if/", question[1])
    assert "ask the study that it follows" in text_of(answer)
