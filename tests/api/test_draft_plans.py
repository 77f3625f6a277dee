"""Adding configurations and slots to a draft study; a plan that is sealed or launched stands."""

from __future__ import annotations

import pytest
from django.test import Client

from studies.models import Configuration, SeedSlot
from tests.api.conftest import key_for
from tests.api.panel import load_plan
from tests.factories import SETTINGS, make_attempt, make_protocol, make_study

CONFIGURATIONS, SLOTS = "studies/plan/configurations/", "studies/plan/slots/"


@pytest.fixture
def planner(db):
    study = make_study(slug="plan")
    make_protocol(study, document={"evaluation_seeds": [1, 2, 3]})
    return key_for("read", "plan", study=study)


def configuration(name="c1", **fields):
    return {"configuration_id": name, "case_id": "case", **SETTINGS, **fields}


def slot(seed, name="c1", **fields):
    return {
        "experiment_id": f"{name}-s{seed}",
        "configuration": name,
        "seed": seed,
        "position": seed,
        **fields,
    }


def test_a_plan_is_added_once_however_often_it_is_sent(planner):
    rows = {"configurations": [configuration(), configuration("c2")]}
    first, again = planner.post(CONFIGURATIONS, rows), planner.post(CONFIGURATIONS, rows)
    assert (first.status_code, again.status_code) == (201, 200), first.content
    assert [row["configuration_id"] for row in again.json()["configurations"]] == ["c1", "c2"]
    slots = {"slots": [slot(1), slot(2), slot(3)]}
    first, again = planner.post(SLOTS, slots), planner.post(SLOTS, slots)
    assert (first.status_code, again.status_code) == (201, 200), first.content
    assert {row["state"] for row in again.json()["slots"]} == {"unresolved"}
    assert (Configuration.objects.count(), SeedSlot.objects.count()) == (2, 3)
    assert Client().get("/studies/plan/").status_code == 200


def test_other_settings_under_a_known_name_are_refused(planner):
    planner.post(CONFIGURATIONS, {"configurations": [configuration()]})
    answer = planner.post(
        CONFIGURATIONS, {"configurations": [configuration("c2"), configuration(gpu_count=4)]}
    )
    assert answer.status_code == 409
    assert answer.json()["error"]["fields"][0]["field"] == "configurations[1].configuration_id"
    assert Configuration.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"gpu_count": 0}, "gpu_count"),
        ({"gpu_count": 3, "rollout_tp_size": 2}, "rollout_tp_size"),
        ({"vllm_gpu_memory_utilization": 1.5}, "vllm_gpu_memory_utilization"),
        ({"parameter_offload": None}, "parameter_offload"),
        ({"margin_limit_mib": 99_999_999}, "margin_limit_mib"),
        ({"colour": "blue"}, "colour"),
    ],
)
def test_settings_that_fit_no_layout_are_named(planner, fields, name):
    answer = planner.post(
        CONFIGURATIONS, {"configurations": [configuration(), configuration("c2", **fields)]}
    )
    assert answer.status_code == 400, answer.content
    assert [item["field"] for item in answer.json()["error"]["fields"]] == [f"configurations[1].{name}"]
    assert Configuration.objects.count() == 0


def test_slots_follow_the_plan(planner):
    planner.post(CONFIGURATIONS, {"configurations": [configuration()]})
    unknown = planner.post(SLOTS, {"slots": [slot(1, "c9")]})
    assert unknown.json()["error"]["fields"][0]["field"] == "slots[0].configuration"
    seed = planner.post(SLOTS, {"slots": [slot(7)]})
    assert seed.json()["error"]["fields"][0]["field"] == "slots[0].seed"
    twice = planner.post(SLOTS, {"slots": [slot(1), slot(1, experiment_id="other")]})
    assert (twice.status_code, SeedSlot.objects.count()) == (400, 0)


def test_a_launched_or_sealed_plan_stands(planner):
    planner.post(CONFIGURATIONS, {"configurations": [configuration()]})
    planner.post(SLOTS, {"slots": [slot(1), slot(2), slot(3)]})
    make_attempt(SeedSlot.objects.first(), "unresolved", reason="lost")
    refused = planner.post(CONFIGURATIONS, {"configurations": [configuration("c2")]})
    assert refused.status_code == 409
    assert "has been launched" in refused.json()["error"]["message"]
    sealed = load_plan(slug="sealed")
    answer = key_for("read", "plan").post(
        f"studies/{sealed.slug}/configurations/", {"configurations": [configuration()]}
    )
    assert answer.status_code == 409
    assert "is sealed" in answer.json()["error"]["message"]


def test_the_same_plan_is_found_again_after_its_seal(planner):
    planner.post(CONFIGURATIONS, {"configurations": [configuration()]})
    planner.post(SLOTS, {"slots": [slot(1)]})
    make_attempt(SeedSlot.objects.first(), "unresolved", reason="lost")
    assert planner.post(CONFIGURATIONS, {"configurations": [configuration()]}).status_code == 200
