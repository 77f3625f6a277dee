"""Health, measurements and the operator's page: each part apart, and only for whom it is meant."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import clear_url_caches, path
from django.utils import timezone

from operating import metrics, state
from operating.models import Backup, Heartbeat
from rlvram_site import urls
from rlvram_site.api.keys import issue_key
from rlvram_site.ledger.chain import record
from rlvram_site.ledger.checks import check_ledger
from studies.evidence.completion import CompletionRule
from studies.jobs import claims
from studies.models import EvidenceBlob, StoredFile
from studies.services.outcomes.derivation import Observed, derive
from tests.bypass import without_triggers
from tests.factories import make_small_study

TOKEN = "a-long-random-token-of-the-monitor"


@pytest.fixture
def alive(db):
    for kind in ("worker", "beat"):
        Heartbeat.objects.create(name=f"{kind} machine", kind=kind, heard_at=timezone.now(), version="1")


@pytest.fixture
def measured(settings, monkeypatch):
    """The address of the measurements, as it is there when the settings ask for it at the start."""
    monkeypatch.setattr(urls, "urlpatterns", [path("metrics", metrics.metrics), *urls.urlpatterns])
    clear_url_caches()
    yield settings
    monkeypatch.undo()
    clear_url_caches()


def values(body: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^(rlvram_\S+) (\S+)$", body, re.MULTILINE)}


def test_health_tells_each_part_apart_and_names_nobody(client, alive, private_site):
    answer = client.get("/health/")
    assert answer.status_code == 200
    document = answer.json()
    assert document.pop("status") == "well"
    assert set(document) == {"database", "broker", "workers", "beat", "disk"}
    assert all(part["ok"] for part in document.values())
    assert "machine" not in answer.content.decode()


def test_health_without_worker_and_clock_is_not_well(client, db):
    answer = client.get("/health/")
    assert answer.status_code == 503
    assert answer.json()["status"] == "not well: workers, beat"


def test_a_worker_that_is_silent_for_long_does_not_count(client, alive):
    Heartbeat.objects.filter(kind="worker").update(heard_at=timezone.now() - 2 * state.WORKER_SILENT)
    assert client.get("/health/").json()["status"] == "not well: workers"


def test_health_without_a_database_is_json_all_the_same(client, alive, monkeypatch):
    def refuse(*args, **kwargs):
        raise OperationalError("connection to server at db.internal failed: user rlvram")

    with monkeypatch.context() as patch:
        patch.setattr(type(connections["default"]), "cursor", refuse)
        answer = client.get("/health/")
    assert answer.status_code == 503
    assert answer.json()["database"] == {"ok": False, "state": "does not answer"}
    assert answer.json()["disk"]["ok"]
    assert "db.internal" not in answer.content.decode()


def test_a_disk_below_its_reserve_is_said(client, alive, settings):
    settings.DISK_RESERVE_BYTES = 1 << 62
    assert client.get("/health/").json()["status"] == "not well: disk"


def test_a_broker_that_is_away_is_said(client, alive, settings, monkeypatch):
    monkeypatch.setattr(state, "_broker_seen", (0.0, False))
    monkeypatch.setattr(state, "_broker_answers", lambda: False)
    assert client.get("/health/").json()["broker"] == {"ok": False, "state": "does not answer"}


def test_there_are_no_measurements_unless_somebody_asked_for_them(client, db):
    assert client.get("/metrics").status_code == 404


def test_measurements_are_for_the_token_and_the_networks(client, alive, measured):
    measured.METRICS_TOKEN, measured.METRICS_NETWORKS = TOKEN, []
    assert client.get("/metrics").status_code == 404
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 404
    assert client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    measured.METRICS_TOKEN, measured.METRICS_NETWORKS = "", ["10.1.0.0/16"]
    assert client.get("/metrics", REMOTE_ADDR="10.1.2.3").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="10.2.2.3").status_code == 404
    # Through a proxy of that network anybody may come.
    assert client.get("/metrics", REMOTE_ADDR="10.1.2.3", HTTP_X_FORWARDED_FOR="1.2.3.4").status_code == 404
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_measurements_say_what_is_there(client, alive, measured):
    measured.METRICS_TOKEN = TOKEN
    study = make_small_study(slug="measured")
    claims.queue("verify", "default", study, {}, hand_over=False)
    held = claims.queue("refit", "numerics", study, {}, hand_over=False)
    claims.claim(held.pk, "a worker")
    check_ledger()
    derive(Observed(texts={"log": "a line"}), CompletionRule(1))
    body = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    found = values(body)
    assert found['rlvram_derivation_seconds_count{process="same"}'] >= 1
    assert found['rlvram_queue_jobs{queue="default",state="waiting"}'] == 1
    assert found['rlvram_queue_jobs{queue="numerics",state="running"}'] == 1
    assert found['rlvram_queue_oldest_waiting_seconds{queue="default"}'] >= 0
    assert 'rlvram_queue_lease_age_seconds{queue="numerics"}' in found
    assert found['rlvram_stream_rows{stream="study/measured"}'] > 0
    assert found["rlvram_ledger_check_passed"] == 1
    assert found["rlvram_disk_free_bytes"] > 0
    assert found['rlvram_part_up{part="workers"}'] == 1


def test_measuring_costs_as_many_queries_with_more_streams(client, alive, measured):
    measured.METRICS_TOKEN = TOKEN

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        return len(seen)

    make_small_study()
    few = queries()
    for _ in range(3):
        make_small_study()
    assert queries() == few


@pytest.fixture
def staff(db) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_user("op", password="x", is_staff=True))
    return client


def test_the_operators_page_is_for_staff(client, db, private_site):
    assert client.get("/operating/").status_code == 302
    client.force_login(get_user_model().objects.create_user("reader", password="x"))
    assert client.get("/operating/").status_code == 403


def test_the_operators_page_says_what_needs_attention(staff, alive):
    page = staff.get("/operating/").content.decode()
    assert "2 of 8 parts need attention: ledger, backup." in page
    assert "No backup was made yet" in page
    assert 'href="/operating/" aria-current="true"' in page


def test_the_operators_page_of_a_healthy_site(staff, alive):
    study = make_small_study()
    claims.queue("verify", "default", study, {}, hand_over=False)
    check_ledger()
    now = timezone.now()
    Backup.objects.create(
        started_at=now, finished_at=now, place="machine:/backups/1", form="sqlite", database_bytes=3_000_000,
        evidence_files=7, evidence_bytes=1,
    )  # fmt: skip
    page = staff.get("/operating/").content.decode()
    assert "All 8 parts work." in page
    assert "machine:/backups/1" in page
    assert "worker machine" in page


def test_missing_triggers_are_said_on_the_operators_page(staff, alive):
    if connections["default"].vendor == "sqlite":
        with without_triggers():
            assert "triggers are missing or changed" in staff.get("/operating/").content.decode()
    else:
        with connections["default"].cursor() as cursor:
            cursor.execute('DROP TRIGGER ledger_no_change ON "studies_event"')
        assert "1 triggers are missing or changed" in staff.get("/operating/").content.decode()
    call_command("migrate", verbosity=0)


def test_keys_that_end_and_damaged_evidence_are_to_be_seen_to(staff, alive, measured):
    study = make_small_study()
    owner = get_user_model().objects.get(username="op")
    soon, later = (timezone.now() + dt.timedelta(days=days) for days in (3, 60))
    for name, ends in (("ci", soon), ("epilog", later), ("host", None)):
        issue_key(name=name, owner=owner, scopes=["read"], expires_at=ends)
    page = staff.get("/operating/").content.decode()
    assert f"(ci) expires on {soon:%Y-%m-%d %H:%M} UTC. It is op&#x27;s." in page
    assert "(epilog)" not in page
    assert f"(ci) expires on {soon:%Y-%m-%d %H:%M} UTC." in staff.get("/notices/").content.decode()
    record(EvidenceBlob(study=study, sha256="a" * 64, size_bytes=7))
    StoredFile.objects.create(
        sha256="a" * 64, state=StoredFile.State.DAMAGED, sent_at=timezone.now(), checked_at=timezone.now()
    )
    page = staff.get("/operating/").content.decode()
    assert "1 files damaged, 0 missing" in page
    assert f"1 file of the evidence of {study.slug} is damaged or missing" in page
    measured.METRICS_TOKEN = TOKEN
    body = staff.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    assert values(body)['rlvram_evidence_lost_files{as="damaged"}'] == 1
