"""Fixtures for the whole suite.

``db`` (pytest-django's) starts a test with an empty database. ``sample_studies`` starts it with everything
that ``./run`` loads; the import happens once per process, into a copy of the test database, and each test's
own changes are rolled back.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from tests.bypass import without_triggers

ROOT = Path(__file__).resolve().parent.parent
DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}


def pytest_addoption(parser) -> None:
    parser.addoption(
        "--only-database",
        action="store_true",
        help="run only the tests that touch the database through Django (used for the second engine)",
    )


def _touches_database(item) -> bool:
    return (
        bool(DATABASE_FIXTURES & set(item.fixturenames)) or item.get_closest_marker("django_db") is not None
    )


def pytest_collection_modifyitems(config, items) -> None:
    for item in items:
        if "sample_studies" in item.fixturenames:
            # First of all: pytest-django opens its transaction on whatever database is current then.
            item.fixturenames.insert(0, "_on_sample_database")
    if config.getoption("--only-database"):
        kept = [item for item in items if _touches_database(item)]
        config.hook.pytest_deselected(items=[item for item in items if not _touches_database(item)])
        items[:] = kept


@pytest.fixture(scope="session")
def archive_path() -> Path | None:
    """The real study archive beside the repository, or None in a plain clone."""
    path = ROOT.parent / "shared" / "rlvrambench"
    return path if path.is_dir() else None


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """pytest-django's set-up; afterwards its flush gets past the append-only triggers."""
    plain_flush = connection.ops.execute_sql_flush

    def flush(sql_list):
        with without_triggers():
            plain_flush(sql_list)

    connection.ops.execute_sql_flush = flush
    yield
    connection.ops.execute_sql_flush = plain_flush


def _use_database(name: str) -> str:
    """Point the default connection at another database of the same server; returns the name it had."""
    before = connection.settings_dict["NAME"]
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
    connection.settings_dict["NAME"] = name
    return before


@pytest.fixture(scope="session")
def _sample_database(django_db_setup, django_db_blocker):
    """Name of a copy of the empty test database with the bundled samples loaded."""
    with django_db_blocker.unblock():
        connection.close()  # on SQLite this also moves the write-ahead log into the file that gets copied
        connection.creation.clone_test_db("sample", verbosity=0)
        name = connection.creation.get_test_db_clone_settings("sample")["NAME"]
        empty = _use_database(name)
        try:
            call_command("load_samples", verbosity=0)
        finally:
            _use_database(empty)
    yield name
    with django_db_blocker.unblock():
        connection.creation.destroy_test_db(suffix="sample", verbosity=0)


@pytest.fixture
def _on_sample_database(request, _sample_database, django_db_blocker):
    if "transactional_db" in request.fixturenames or "live_server" in request.fixturenames:
        pytest.fail("sample_studies is shared by many tests; a transactional test would empty it")
    with django_db_blocker.unblock():
        empty = _use_database(_sample_database)
    yield
    with django_db_blocker.unblock():
        _use_database(empty)


@pytest.fixture
def sample_studies(_on_sample_database, db):
    """A database with everything that ``./run`` loads; the test's own changes are undone."""


@pytest.fixture
def private_site(settings):
    """The site as outside the demo: reading asks for a login."""
    settings.PUBLIC_READ = False
    return settings
