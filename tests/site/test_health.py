"""Health checks for a process manager: open to all, and silent about what is inside."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone

from rlvram_site.ledger.checks import check_is_due, check_ledger
from rlvram_site.ledger.models import LedgerCheck
from rlvram_site.tasks import check_ledger_when_due
from studies.models import Event
from tests.bypass import without_triggers
from tests.factories import make_pool, make_study


@pytest.fixture
def silent_database(monkeypatch):
    def refuse(*args, **kwargs):
        raise OperationalError("connection to server at db.internal failed: user rlvram")

    with monkeypatch.context() as patch:
        patch.setattr(type(connections["default"]), "cursor", refuse)
        yield


def guard() -> dict[str, str]:
    """What the page says of the guard. PostgreSQL's account of the tests owns the tables, which is said."""
    role = {"role": "could remove the guard"} if connection.vendor == "postgresql" else {}
    return {"guard": "in place", **role}


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_alive_answers_without_a_database(client):
    answer = client.get("/health/live/")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})


def test_ready_answers_when_the_database_does(client, db):
    answer = client.get("/health/ready/")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("path", ["/health/ready/", "/health/ledger/"])
def test_a_silent_database_is_a_503_that_tells_no_secrets(client, db, silent_database, path):
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (
        503,
        {"status": "not ready", "database": "does not answer"},
    )


@pytest.mark.parametrize("path", ["/health/live/", "/health/ready/", "/health/ledger/"])
def test_health_needs_no_login_on_a_private_site(client, db, private_site, path):
    assert client.get(path).status_code == 200


def test_a_ledger_that_was_never_walked_is_not_called_good(client, db):
    assert client.get("/health/ledger/").json() == {"status": "not checked yet", **guard()}


def test_the_last_walk_is_shown(client, db):
    make_pool()
    check = check_ledger()
    answer = client.get("/health/ledger/")
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "status": "passed",
            **guard(),
            "checked_at": check.finished_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "streams": 1,
            "links": 1,
            "problems": 0,
        },
    )


def test_a_broken_chain_is_a_503_without_details(client, db):
    study = make_study(slug="secret-study")
    with without_triggers():
        execute("UPDATE studies_study SET title = 'forged'")
    assert check_ledger().problems == [
        f"study/secret-study: link 1: studies.study {study.pk} no longer has the content that was recorded"
    ]
    answer = client.get("/health/ledger/")
    assert answer.status_code == 503
    assert answer.json() | {"checked_at": ""} == {
        "status": "failed", **guard(), "checked_at": "", "streams": 1, "links": 0, "problems": 1,
    }  # fmt: skip


def test_a_history_cut_between_two_walks_is_found_by_every_later_walk(db):
    study = make_study(slug="panel")
    Event(study=study, position=0, kind="x", status="noted", title="x").save()
    assert check_ledger().passed
    with transaction.atomic():
        with without_triggers():
            execute("DELETE FROM ledger_ledgerentry WHERE sequence = 2")
            execute("DELETE FROM studies_event")
        cut = ["study/panel: it has 1 links, the kept head has 2: history was cut"]
        assert check_ledger().problems == cut
        assert check_ledger().problems == cut


def test_history_that_grows_between_two_walks_passes(db):
    study = make_study()
    assert check_ledger().passed
    Event(study=study, position=0, kind="x", status="noted", title="x").save()
    make_pool()
    assert (check_ledger().links, check_ledger().passed) == (3, True)


def test_the_task_walks_at_most_once_a_day(db):
    assert check_is_due()
    check_ledger_when_due()
    check_ledger_when_due()
    assert LedgerCheck.objects.count() == 1
    LedgerCheck.objects.update(finished_at=timezone.now() - dt.timedelta(days=1))
    check_ledger_when_due()
    assert LedgerCheck.objects.count() == 2
