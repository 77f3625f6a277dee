"""What the API takes from hosts, and what a job for a host must name."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from studies.jobs import claims
from studies.models import Host, Job, SeedSlot
from studies.services.hosts import open_slots
from tests.api.conftest import key_for, make_person
from tests.factories import (
    make_attempt,
    make_configuration,
    make_protocol,
    make_slots,
    make_small_study,
    make_study,
)

DESCRIPTION = {
    "hostname": "node7",
    "driver": "550",
    "devices": [
        {"uuid": "GPU-a", "ordinal": 0, "name": "A100", "capacity_mib": 40960},
        {"uuid": "GPU-b", "ordinal": 1, "name": "A100", "capacity_mib": 40960},
    ],
    "programs": ["train", "other"],
}


@pytest.fixture
def study(db):
    return make_small_study(slug="demo")


@pytest.fixture
def host(study):
    return key_for("read", "hosts")


@pytest.fixture
def staff(study):
    return key_for("read", "jobs")


def put(api, name, body):
    return api.client.put(
        f"/api/v1/hosts/{name}/", body, content_type="application/json", headers=api.headers
    )


def order(staff, **parameters):
    sent = {"host": "gpu-1", "slots": [SeedSlot.objects.first().experiment_id], "program": "train"}
    return staff.post("jobs/", {"kind": "run-slots", "study": "demo", "parameters": {**sent, **parameters}})


def test_a_host_registers_again_with_other_devices(host):
    assert put(host, "gpu-1", DESCRIPTION).status_code == 200
    one = {**DESCRIPTION, "devices": DESCRIPTION["devices"][:1]}
    assert put(host, "gpu-1", one).json()["queue"] == "gpu.gpu-1"
    assert [len(row["devices"]) for row in host.get("hosts/").json()["results"]] == [1]
    assert host.get("hosts/gpu-2/").status_code == 404


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("gpu.1", {}, "host"),
        ("GPU", {}, "host"),
        ("gpu-1", {"devices": []}, "devices"),
        ("gpu-1", {"devices": [{"uuid": "GPU-a"}]}, "devices[0].ordinal"),
        ("gpu-1", {"colour": 1}, "colour"),
    ],
)
def test_a_wrong_description_names_the_field(host, name, change, field):
    answer = put(host, name, {**DESCRIPTION, **change})
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] == field
    assert not Host.objects.exists()


def test_only_keys_for_hosts_register(private_site, study):
    assert put(key_for("read", "attempts"), "gpu-1", DESCRIPTION).status_code == 403
    assert Client().put("/api/v1/hosts/gpu-1/", {}).status_code == 401


def test_a_job_names_a_host_that_is_there_and_slots_that_are_open(host, staff):
    assert "expected a registered host: none" in order(staff).json()["error"]["message"]
    put(host, "gpu-1", DESCRIPTION)
    assert order(staff).status_code == 201
    assert Job.objects.get().queue == "gpu.gpu-1"
    make_attempt(SeedSlot.objects.first(), "completed", 30_000)
    for parameters, field in (
        ({}, "parameters.slots"),
        ({"slots": ["no-such-slot"]}, "parameters.slots"),
        ({"slots": []}, "parameters.slots"),
        ({"slots": [SeedSlot.objects.last().experiment_id], "program": "/bin/sh"}, "parameters.program"),
        ({"slots": [SeedSlot.objects.last().experiment_id], "program": ""}, "parameters.program"),
        ({"slots": [SeedSlot.objects.last().experiment_id], "command": ["sh"]}, "parameters.command"),
        ({"slots": [SeedSlot.objects.last().experiment_id], "interval_ms": 0}, "parameters"),
    ):
        answer = order(staff, **parameters)
        assert answer.status_code == 400, parameters
        assert answer.json()["error"]["fields"][0]["field"] == field


def test_a_slot_that_needs_more_devices_than_there_are_is_refused(host, staff):
    put(host, "gpu-1", {**DESCRIPTION, "devices": DESCRIPTION["devices"][:1]})
    assert "needs 2 devices, and gpu-1 has 1" in order(staff).json()["error"]["message"]


def test_a_claim_is_one_hosts_and_ends_once(host, staff):
    put(host, "gpu-1", DESCRIPTION)
    number = order(staff).json()["id"]
    assert host.post("hosts/gpu-2/next/", {}).status_code == 404
    claim = host.post("hosts/gpu-1/next/", {}).json()
    fence = claim["fence"]
    assert claim["job"] == number
    (ordered,) = claim["orders"]
    assert "command" not in ordered
    assert (ordered["program"], ordered["device_count"], ordered["device_uuids"]) == ("train", 2, [])
    assert host.post("hosts/gpu-1/next/", {}).status_code == 204
    report = {"fence": fence, "done": 0, "total": 1, "sentence": "running", "slot": "s",
              "memory_mib": {"GPU-a": 5}, "log": ""}  # fmt: skip
    assert host.post(f"hosts/gpu-1/jobs/{number}/beat/", report).json() == {"cancel": False}
    assert host.post(f"hosts/gpu-1/jobs/{number}/beat/", {**report, "fence": 0}).status_code == 409
    assert Host.objects.get().memory_mib == {"GPU-a": 5}
    results = [{"slot": SeedSlot.objects.first().experiment_id, "problem": "device GPU-a was busy"}]
    end = {**report, "done": 1, "results": results}
    invented = {**end, "results": [{"slot": SeedSlot.objects.last().experiment_id, "launched": True}]}
    refused = host.post(f"hosts/gpu-1/jobs/{number}/end/", invented)
    assert (refused.status_code, refused.json()["error"]["fields"][0]["field"]) == (400, "results[0].slot")
    ended = host.post(f"hosts/gpu-1/jobs/{number}/end/", end).json()
    assert ended["state"] == "failed"
    assert ended["error"].startswith("0 of 1 slot launched, 0 ended, 0 uploaded, 0 recorded. ")
    assert ended["error"].endswith(": device GPU-a was busy")
    assert host.post(f"hosts/gpu-1/jobs/{number}/beat/", report).status_code == 409


def test_staff_gives_slots_on_the_hosts_page(host):
    assert "No host has registered yet" in Client().get("/hosts/").content.decode()
    put(host, "gpu-1", DESCRIPTION)
    assert "2 × A100" in Client().get("/hosts/").content.decode()
    slot = SeedSlot.objects.first()
    assert "Give it planned slots" not in Client().get("/hosts/gpu-1/?study=demo").content.decode()
    person = Client()
    person.force_login(make_person("staff", is_staff=True))
    page = person.get("/hosts/gpu-1/?study=demo").content.decode()
    assert f'value="{slot.experiment_id}"' in page
    form = {"study": "demo", "slots": [slot.experiment_id], "program": "train"}
    assert Client().post("/hosts/gpu-1/", form).status_code == 403
    assert person.post("/hosts/gpu-1/", {**form, "program": "/bin/sh"}).status_code == 400
    assert person.post("/hosts/gpu-1/", {**form, "slots": []}).status_code == 400
    assert not Job.objects.exists()
    assert person.post("/hosts/gpu-1/", form).status_code == 302
    job = Job.objects.get()
    assert job.parameters["program"] == "train"
    assert "Waiting for a worker of the queue gpu.gpu-1" in person.get(f"/jobs/{job.pk}/").content.decode()
    assert person.get("/hosts/gpu-9/").status_code == 404


def test_the_protocol_states_the_program_and_how_often_a_slot_is_launched(host, staff, study):
    study = make_study(slug="own")
    make_protocol(study, document={"launch_program": "other", "launches_per_slot": 2})
    (slot, *_) = make_slots(make_configuration(study))
    put(host, "gpu-1", DESCRIPTION)
    sent = {"host": "gpu-1", "slots": [slot.experiment_id]}
    answer = staff.post("jobs/", {"kind": "run-slots", "study": "own", "parameters": sent})
    assert answer.status_code == 201, answer.content
    (order,) = host.post("hosts/gpu-1/next/", {}).json()["orders"]
    assert (order["program"], order["launches_allowed"], order["seed"]) == ("other", 1, 1)
    assert order["settings"]["rollout_n"] == 4


def test_a_host_belongs_to_the_key_that_registered_it(host, staff):
    put(host, "gpu-1", DESCRIPTION)
    number = order(staff).json()["id"]
    other = key_for("read", "hosts")
    taken = put(other, "gpu-1", {**DESCRIPTION, "programs": ["sh"]})
    assert (taken.status_code, "belongs to another key" in taken.json()["error"]["message"]) == (409, True)
    assert other.post("hosts/gpu-1/next/", {}).status_code == 403
    fence = host.post("hosts/gpu-1/next/", {}).json()["fence"]
    report = {"fence": fence, "done": 1, "total": 1, "sentence": "", "slot": "", "memory_mib": {}, "log": "",
              "results": []}  # fmt: skip
    for what in ("beat", "end"):
        body = report if what == "end" else {name: report[name] for name in report if name != "results"}
        assert other.post(f"hosts/gpu-1/jobs/{number}/{what}/", body).status_code == 403
    assert Host.objects.get().programs == ["train", "other"]
    person = Client()
    person.force_login(make_person("root", is_staff=True, is_superuser=True))
    released = person.post(
        "/admin/studies/host/",
        {"action": "release", "_selected_action": [Host.objects.get().pk]},
        follow=True,
    )
    assert "released" in released.content.decode()
    assert LogEntry.objects.get().change_message == "Released: the next key that registers it has it."
    assert put(other, "gpu-1", DESCRIPTION).status_code == 200
    assert put(host, "gpu-1", DESCRIPTION).status_code == 409


def test_another_machine_under_the_same_name_is_told_apart(host):
    put(host, "gpu-1", {**DESCRIPTION, "machine": "a" * 32})
    again = put(host, "gpu-1", {**DESCRIPTION, "machine": "b" * 32, "hostname": "node8"})
    assert again.status_code == 409
    assert "is another machine (node7)" in again.json()["error"]["message"]
    # The same machine with other devices, after a repair, is the same host.
    one = {**DESCRIPTION, "machine": "a" * 32, "devices": [{**DESCRIPTION["devices"][0], "uuid": "GPU-new"}]}
    assert put(host, "gpu-1", one).status_code == 200


def test_an_order_that_can_no_longer_be_carried_out_ends_its_job_and_not_the_host(host, staff):
    put(host, "gpu-1", DESCRIPTION)
    order(staff)
    put(host, "gpu-1", {**DESCRIPTION, "devices": DESCRIPTION["devices"][:1]})
    assert host.post("hosts/gpu-1/next/", {}).status_code == 204
    assert Job.objects.get().state == Job.State.FAILED
    assert "needs 2 devices, and gpu-1 has 1" in Job.objects.get().error


def test_no_message_goes_to_a_broker_for_a_host(host, staff, monkeypatch):
    sent = []
    monkeypatch.setattr("studies.jobs.sending.app.send_task", lambda *words, **more: sent.append(words))
    put(host, "gpu-1", DESCRIPTION)
    order(staff)
    claims.take_back()
    assert (sent, Job.objects.count()) == ([], 1)


@pytest.mark.parametrize(
    ("cap", "offered"),
    [({"retries": 0}, False), ({"retries": 2}, True), ({}, True)],
)
def test_a_slot_is_offered_again_exactly_while_one_more_attempt_may_count(host, staff, cap, offered):
    study = make_study(slug="own")
    make_protocol(study, document={"launch_program": "train", "resource_cap": cap})
    (slot, *others) = make_slots(make_configuration(study))
    make_attempt(slot, "unresolved", reason="host memory exhausted")
    make_attempt(others[0], "completed", 20_000.0)
    put(host, "gpu-1", DESCRIPTION)
    names = [state.slot.experiment_id for state in open_slots(study)]
    assert names == ([slot.experiment_id] if offered else []) + [row.experiment_id for row in others[1:]]
    sent = {"host": "gpu-1", "slots": [slot.experiment_id]}
    answer = staff.post("jobs/", {"kind": "run-slots", "study": "own", "parameters": sent})
    assert (answer.status_code == 201) == offered, answer.content
    if not offered:
        assert b"expected planned slots of which one more attempt may count" in answer.content
        return
    make_attempt(slot, "unresolved", reason="host memory exhausted", invocation_id="the second")
    (order,) = host.post("hosts/gpu-1/next/", {}).json()["orders"]
    assert order["launches_allowed"] == 2  # asked for later, it is still the same try
