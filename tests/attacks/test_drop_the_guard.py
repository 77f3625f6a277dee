"""Somebody who has got hold of the site, and with it of its connection to the database."""

from __future__ import annotations

import secrets
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from rlvram_site.ledger.checks import check_ledger
from rlvram_site.ledger.roles import ways_around
from tests.factories import make_study
from tests.processes import database_url, start_python

ON_POSTGRESQL = connection.vendor == "postgresql"
DENIED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.RestrictViolation)
TABLE = "studies_study"
ATTACKS = [
    f"UPDATE {TABLE} SET title = 'other'",
    f"DELETE FROM {TABLE}",
    f"TRUNCATE {TABLE} CASCADE",
    f"DROP TRIGGER ledger_no_change ON {TABLE}",
    f"ALTER TABLE {TABLE} DISABLE TRIGGER ALL",
    f"ALTER TABLE {TABLE} ADD COLUMN more text",
    f"ALTER TABLE {TABLE} OWNER TO CURRENT_USER",
    f"DROP TABLE {TABLE} CASCADE",
    f"CREATE RULE quietly AS ON UPDATE TO {TABLE} DO INSTEAD NOTHING",
    f"CREATE TRIGGER another BEFORE INSERT ON {TABLE} FOR EACH ROW EXECUTE FUNCTION ledger_refuse()",
    "CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql "
    "AS $$ BEGIN RETURN NEW; END $$",
    "DROP FUNCTION ledger_refuse() CASCADE",
    "SET session_replication_role = replica",
    "UPDATE ledger_ledgerentry SET actor = 'nobody'",
    "DELETE FROM django_migrations",
    "CREATE TABLE mine (id integer)",
    "CREATE ROLE another SUPERUSER",
    "ALTER ROLE CURRENT_USER SUPERUSER",
]


@pytest.fixture
def role(transactional_db):
    """The site's role as ``grant_site_role`` makes it, and its address."""
    name, password = f"site_{secrets.token_hex(4)}", secrets.token_hex(16)
    make_study(slug="panel")
    connection.close()
    process = start_python("manage.py", "grant_site_role", name, SITE_DATABASE_PASSWORD=password)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert out == f"role {name} reads, appends, and owns nothing\n"
    _, _, place = database_url().rpartition("@")
    yield name, f"postgresql://{name}:{password}@{place}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {name}")
        cursor.execute(f"DROP ROLE {name}")


def test_only_a_server_has_roles(db):
    if ON_POSTGRESQL:
        with pytest.raises(CommandError, match="owns the tables; the site's role must be another one"):
            call_command("grant_site_role", connection.settings_dict["USER"])
    else:
        assert ways_around() == []
        with pytest.raises(CommandError, match="only PostgreSQL has roles"):
            call_command("grant_site_role", "rlvram_site")


if ON_POSTGRESQL:

    @pytest.mark.parametrize("statement", ATTACKS)
    def test_the_sites_role_cannot(role, statement):
        with psycopg.connect(role[1]) as site, pytest.raises(DENIED):
            site.execute(statement)

    def test_the_site_works_as_that_role(role):
        """Reads, logs in, appends to the ledger, walks it: the site's own processes, not a list of rights."""
        script = (
            "import django; django.setup()\n"
            "from django.contrib.auth import get_user_model\n"
            "from django.test import Client\n"
            "from rlvram_site.api.keys import issue_key\n"
            "from rlvram_site.ledger.checks import check_ledger\n"
            "from rlvram_site.ledger.startup import require_guard\n"
            "require_guard()\n"
            "user = get_user_model().objects.create_superuser('ada', '', 'a long passphrase')\n"
            "client = Client()\n"
            "client.post('/login/', {'username': 'ada', 'password': 'a long passphrase'})\n"
            "print(client.get('/api/v1/studies/panel/').status_code, issue_key(name='robot', owner=user, "
            "scopes=['read'])[0].prefix != '', check_ledger().passed, "
            "client.get('/health/ledger/').json()['role'])\n"
        )
        process = start_python("-c", script, DATABASE_URL=role[1], ALLOWED_HOSTS="testserver,127.0.0.1")
        out, errors = process.communicate()
        assert (process.returncode, out.strip()) == (0, "200 True True limited"), errors

    def test_check_is_content_with_it(role):
        process = start_python("manage.py", "check", "--database", "default", DATABASE_URL=role[1])
        _, errors = process.communicate()
        assert process.returncode == 0
        assert "rlvram.W001" not in errors

    def test_it_cannot_migrate(role):
        process = start_python("manage.py", "migrate", DATABASE_URL=role[1])
        _, errors = process.communicate()
        assert process.returncode != 0
        assert "permission denied" in errors or "must be owner" in errors

    def test_an_owner_is_remarked_on(db, client):
        assert ways_around()
        check_ledger()
        assert client.get("/health/ledger/").json()["role"] == "could remove the guard"
        errors = StringIO()
        call_command("check", databases=["default"], stderr=errors)
        assert "The site could remove the guard" in errors.getvalue()
