"""The door for the forge's webhook: checked, taken once, and only a reason to look sooner."""

from __future__ import annotations

import datetime as dt
import json
import uuid

import pytest
from django.utils import timezone

from admission.models import Followed, HookDelivery, TrackedIssue
from admission.sync import following
from admission.sync.forge import Forge
from admission.sync.hooks import signed
from tests.admission_sync.forge import SHA

pytestmark = pytest.mark.django_db
SECRET = "a-long-secret"
LATER = timezone.now() + dt.timedelta(days=1)


@pytest.fixture
def door(forge, settings, client, monkeypatch):
    """Sends deliveries to the site; tells how often a sync was scheduled."""
    settings.FORGE_WEBHOOK_SECRET = SECRET
    settings.PUBLIC_READ = False
    scheduled = []
    monkeypatch.setattr("admission.views.tracking.schedule_sync", lambda: scheduled.append(True))
    forge.link(9)
    forge.pull(9)
    following.sync(following.follow(following.address_here("octo/cat#7")), Forge())
    following.follow(following.address_here("octo/dog#1"))
    Followed.objects.update(due_at=LATER)

    def send(payload, event="issues", *, delivery="", signature=None, body=None):
        data = json.dumps(payload).encode() if body is None else body
        headers = {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery or str(uuid.uuid4()),
            "X-Hub-Signature-256": signed(data, SECRET) if signature is None else signature,
        }
        return client.post("/hooks/forge/", data, content_type="application/json", headers=headers)

    send.scheduled = scheduled
    return send


def due() -> set[str]:
    return {str(row) for row in Followed.objects.filter(due_at__lt=LATER)}


OF_THE_REPOSITORY = {"repository": {"full_name": "Octo/Cat"}}


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("issues", {"action": "edited", "issue": {"number": 7}}),
        ("issue_comment", {"issue": {"number": 7}}),
        ("issue_comment", {"issue": {"number": 9, "pull_request": {}}}),
        ("pull_request", {"pull_request": {"number": 9}}),
        ("pull_request_review", {"pull_request": {"number": 9}}),
        ("check_run", {"check_run": {"pull_requests": [{"number": 9}]}}),
        ("check_suite", {"check_suite": {"pull_requests": [{"number": 9}]}}),
        ("status", {"sha": SHA["one"]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_may_have_changed_becomes_due_and_nothing_is_recorded(door, event, payload):
    before = TrackedIssue.objects.get().threaditem_rows.count()
    answer = door(OF_THE_REPOSITORY | payload, event)
    assert (answer.status_code, answer.json()) == (202, {"status": "scheduled", "made_due": 1})
    assert due() == {"octo/cat#7"}
    assert door.scheduled == [True]
    assert TrackedIssue.objects.get().threaditem_rows.count() == before


def test_what_is_not_followed_is_answered_politely(door):
    for payload in ({"issue": {"number": 8}}, {"issue": {"number": True}}, {"issue": []}, {}):
        answer = door(OF_THE_REPOSITORY | payload)
        assert (answer.status_code, answer.json()["status"]) == (202, "not followed")
    assert due() == set()
    assert door.scheduled == []


def test_unknown_events_and_pings_are_answered_politely(door):
    assert door({"zen": "Keep it simple."}, "ping").json()["status"] == "pong"
    assert door(OF_THE_REPOSITORY, "marketplace_purchase").json()["status"] == "ignored"
    assert due() == set()


@pytest.mark.parametrize("signature", ["", "sha256=00", "sha1=abc", "ÿ", signed(b"other", SECRET)])
def test_a_wrong_signature_is_refused(door, signature):
    answer = door(OF_THE_REPOSITORY | {"issue": {"number": 7}}, signature=signature)
    assert answer.status_code == 403
    assert not HookDelivery.objects.exists()
    assert due() == set()


def test_a_replay_is_refused(door):
    payload = OF_THE_REPOSITORY | {"issue": {"number": 7}}
    assert door(payload, delivery="72d3162e-cc78-11e3").status_code == 202
    Followed.objects.update(due_at=LATER)
    assert door(payload, delivery="72d3162e-cc78-11e3").status_code == 409
    assert due() == set()
    assert door.scheduled == [True]


@pytest.mark.parametrize(
    ("body", "status"), [(b"[]", 400), (b"payload=%7B%7D", 400), (b"\xff", 400), (b"[" * 100_000, 400)]
)
def test_a_body_that_is_no_object_is_refused(door, body, status):
    assert door(None, body=body).status_code == status


def test_a_body_that_is_too_long_is_refused(door, settings):
    settings.FORGE_WEBHOOK_MAX_BYTES = 100
    assert door({"padding": "x" * 200}).status_code == 413


def test_an_id_that_is_none_is_refused(door):
    assert door({}, delivery="no id\n").status_code == 400


def test_without_a_secret_there_is_no_door(door, settings):
    settings.FORGE_WEBHOOK_SECRET = ""
    assert door({}).status_code == 404


def test_reading_the_door_is_refused(door, client):
    assert client.get("/hooks/forge/").status_code == 405
