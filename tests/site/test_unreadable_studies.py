"""What a study's records can't say is told by every page and API call in words, never by a failure."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connections

from studies.models import Protocol
from studies.urls import study_patterns
from tests.factories import make_attempt, make_configuration, make_protocol, make_slots, make_study

UNREADABLE = {
    "no protocol": None,
    "a rule that is no number": {"resource_cap": {"retries": "many"}},
    "two numbers that contradict each other": {"resource_cap": {"retries": 0}, "launches_per_slot": 3},
    "almost nothing": {},
    "a wording that no rule has": {"outcome_rule": "whatever seems best"},
}
PARTS = [
    "slots",
    "attempts",
    "configurations",
    "protocol",
    "amendments",
    "predictions",
    "evaluations",
    "seals",
]


@pytest.fixture(params=UNREADABLE, ids=str)
def study(request, db):
    study = make_study(slug="odd")
    if UNREADABLE[request.param] is not None:
        make_protocol(study, document=UNREADABLE[request.param])
    slots = make_slots(make_configuration(study, configuration_id="odd-1"))
    make_attempt(slots[0], "memory_failure", invocation_id="run-1", execution_commit="a" * 40)
    return study


def addresses(study):
    slot = study.seedslots.first()
    values = {
        "configuration_id": "odd-1",
        "experiment_id": slot.experiment_id,
        "invocation_id": "run-1",
        "commit": "a" * 40,
        "name": "donor_copy",
    }
    for pattern in study_patterns:
        names = pattern.pattern.converters
        route = str(pattern.pattern)
        for name in names:
            route = route.replace(f"<name:{name}>", values[name]).replace(f"<slug:{name}>", values[name])
        yield f"/studies/odd/{route}"


def test_every_page_says_what_is_missing(study, client):
    for address in addresses(study):
        answer = client.get(address)
        assert answer.status_code in (200, 409), (address, answer.status_code)
        assert answer.getvalue()  # a download reads its rows only now


def test_home_says_it_too(study, client):
    assert client.get("/").status_code == 200


def test_every_api_call_answers_in_its_own_shape(study, client):
    for part in PARTS:
        for suffix in ("", "?format=csv"):
            answer = client.get(f"/api/v1/studies/odd/{part}/{suffix}")
            assert answer.status_code in (200, 404, 409), (part, answer.status_code, answer.content[:300])
            if answer.status_code != 200 and not suffix:
                assert set(answer.json()["error"]) == {"code", "message", "fields"}


def test_the_reason_names_the_key(db, client):
    study = make_study(slug="odd")
    make_protocol(study, document={"resource_cap": {"retries": "many"}})
    make_slots(make_configuration(study))
    error = client.get("/api/v1/studies/odd/slots/").json()["error"]
    assert (error["code"], "resource_cap.retries is 'many'" in error["message"]) == ("conflict", True)
    assert Protocol.objects.count() == 1


@pytest.fixture
def lost_database(monkeypatch):
    def refuse(*args, **kwargs):
        raise OperationalError("connection to server at db.internal failed: user rlvram")

    with monkeypatch.context() as patch:
        patch.setattr(type(connections["default"]), "cursor", refuse)
        yield


def test_a_lost_database_is_json_without_secrets(db, client, lost_database):
    answer = client.get("/api/v1/studies/")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "unavailable"
    assert "db.internal" not in answer.content.decode()


def test_a_fault_is_json_without_its_inside(db, client, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("rlvram_site.api.tables.RecordTable.list", fail)
    make_study(slug="odd")
    client.raise_request_exception = False
    answer = client.get("/api/v1/studies/odd/slots/")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "error"
    assert "secret" not in answer.content.decode()
    assert "a secret of the inside" in caplog.text


def test_an_unknown_address_of_the_api_is_json(db, client):
    answer = client.get("/api/v1/nothing/here/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_costs_that_nobody_recorded_are_unknown_and_not_zero(db, client):
    study = make_study(slug="odd")
    make_protocol(study)
    make_attempt(make_slots(make_configuration(study))[0], "completed", 20_000.0)
    page = client.get("/studies/odd/costs/").content.decode()
    assert "nobody recorded how much GPU time it took" in page
    assert "unknown" in page
    assert "0.00 GPU-hours" not in page
