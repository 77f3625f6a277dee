"""Somebody who can change the database takes the guard away first. That never goes unnoticed."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection

from rlvram_site.ledger.checks import check_ledger
from rlvram_site.ledger.startup import require_guard
from rlvram_site.ledger.triggers import missing
from tests.factories import make_study

TABLE = "studies_attempt"
SQLITE = {
    "dropped": [f'DROP TRIGGER "{TABLE}_no_update"'],
    "another in its place": [
        f'DROP TRIGGER "{TABLE}_no_delete"',
        f'CREATE TRIGGER "{TABLE}_no_delete" BEFORE DELETE ON "{TABLE}" BEGIN SELECT 1; END',
    ],
    "only for some rows": [
        f'DROP TRIGGER "{TABLE}_no_update"',
        f'CREATE TRIGGER "{TABLE}_no_update" BEFORE UPDATE ON "{TABLE}" WHEN OLD.id > 10 '
        "BEGIN SELECT RAISE(ABORT, 'no'); END",
    ],
}
POSTGRESQL = {
    "dropped": [f"DROP TRIGGER ledger_no_change ON {TABLE}"],
    "another in its place": [
        "CREATE FUNCTION allow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
        f"CREATE OR REPLACE TRIGGER ledger_no_change BEFORE UPDATE OR DELETE ON {TABLE} "
        "FOR EACH ROW EXECUTE FUNCTION allow()",
    ],
    "only for some rows": [
        f"CREATE OR REPLACE TRIGGER ledger_no_change BEFORE UPDATE OR DELETE ON {TABLE} "
        "FOR EACH ROW WHEN (OLD.id > 10) EXECUTE FUNCTION ledger_refuse()",
    ],
    "switched off": [f"ALTER TABLE {TABLE} DISABLE TRIGGER ledger_no_truncate"],
    "emptied": [
        "CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RETURN NEW; END $$"
    ],
}
ATTACKS = POSTGRESQL if connection.vendor == "postgresql" else SQLITE


@pytest.fixture(params=ATTACKS, ids=str)
def attack(request, db):
    make_study(slug="panel")
    with connection.cursor() as cursor:
        for statement in ATTACKS[request.param]:
            cursor.execute(statement)


def test_a_new_database_has_its_guard(db):
    assert missing() == []
    require_guard()


def test_the_walk_names_what_is_missing(attack, capsys):
    with pytest.raises(CommandError, match="broken"):
        call_command("verify_ledger")
    assert "BROKEN  guard" in capsys.readouterr().out


def test_the_daily_check_and_the_health_page_say_so(attack, client):
    assert not check_ledger().passed
    answer = client.get("/health/ledger/")
    assert (answer.status_code, answer.json()["guard"]) == (503, "missing")


def test_the_health_page_says_so_before_any_walk(attack, client):
    answer = client.get("/health/ledger/")
    assert answer.status_code == 503
    assert answer.json().items() >= {"status": "not checked yet", "guard": "missing"}.items()


def test_a_server_does_not_start(attack):
    with pytest.raises(ImproperlyConfigured, match=r"manage\.py migrate installs them again"):
        require_guard()
