"""Fixtures for the whole suite.

``db`` (pytest-django's) starts a test with an empty database. ``sample_studies`` starts it with everything
that ``./run`` loads, ``art_848`` with the bundled issue. These are made once per process (``databases.py``),
and each test's own changes are rolled back.
"""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
from django.contrib.auth.models import Group
from django.db import connection

from admission.models import TrackedIssue
from rlvram_site.api.permissions import REVIEWER, UPLOADER
from tests.bypass import without_triggers
from tests.databases import BUILDERS, StartDatabases, real_archive
from tests.databases import ROOT as ROOT

TRANSACTIONAL = {"transactional_db", "live_server"}
DATABASE_FIXTURES = {"db", *TRANSACTIONAL}
WAITING = {"browser", "jobs", "gpu_host", "upload", "site"}

# One profile for every property: how long a machine takes says nothing about a rule. ``max_examples`` of a
# single test bounds its work.
hypothesis.settings.register_profile(
    "suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser) -> None:
    parser.addoption(
        "--only-database",
        action="store_true",
        help="run only the tests that touch the database through Django, without those of one engine",
    )


def _wants_second_engine(item) -> bool:
    if item.get_closest_marker("one_engine"):
        return False
    return (
        bool(DATABASE_FIXTURES & set(item.fixturenames)) or item.get_closest_marker("django_db") is not None
    )


def pytest_collection_modifyitems(config, items) -> None:
    for item in items:
        # A parameter may have the name of a start database; it asks for none.
        names = set(item.fixturenames) - set(getattr(getattr(item, "callspec", None), "params", ()))
        if names & set(BUILDERS) and not names & TRANSACTIONAL:
            # First of all: pytest-django opens its transaction on whatever database is current then.
            item.fixturenames.insert(0, "_on_start_database")
    if config.getoption("--only-database"):
        config.hook.pytest_deselected(items=[item for item in items if not _wants_second_engine(item)])
        items[:] = [item for item in items if _wants_second_engine(item)]
    # What waits for servers, workers and browsers comes first: meanwhile the other worker has the processor,
    # and the last files are short ones.
    items.sort(key=lambda item: item.path.parent.name not in WAITING)


@pytest.fixture(scope="session")
def archive_path() -> Path | None:
    """The real study archive beside the repository, or None in a plain clone."""
    return real_archive()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """pytest-django's set-up; afterwards its flush gets past the append-only triggers.

    The value is the databases that tests start from, see ``tests/databases.py``.
    """
    with django_db_blocker.unblock():
        databases = StartDatabases()
    plain_flush = connection.ops.execute_sql_flush

    def flush(sql_list):
        with without_triggers():
            plain_flush(sql_list)
        # A migration made the roles; a flush takes them along.
        Group.objects.bulk_create(Group(name=name) for name in (REVIEWER, UPLOADER))

    connection.ops.execute_sql_flush = flush
    yield databases
    connection.ops.execute_sql_flush = plain_flush
    with django_db_blocker.unblock():
        databases.remove()


@pytest.fixture(scope="session")
def start_databases(django_db_setup) -> StartDatabases:
    """The databases that tests start from."""
    return django_db_setup


@pytest.fixture
def _on_start_database(request, start_databases, django_db_blocker):
    with django_db_blocker.unblock():
        start_databases.enter(request.fixturenames)
    yield
    with django_db_blocker.unblock():
        start_databases.leave()


@pytest.fixture
def sample_studies(request, db):
    """A database with everything that ``./run`` loads; the test's own changes are undone."""
    if TRANSACTIONAL & set(request.fixturenames):
        pytest.fail("sample_studies is shared by many tests; a transactional test would empty it")


@pytest.fixture
def art_848(db, start_databases) -> TrackedIssue:
    """The bundled record of OpenPipe/ART #848."""
    start_databases.ensure("art_848")
    return TrackedIssue.objects.get()


@pytest.fixture
def private_site(settings):
    """The site as outside the demo: reading asks for a login."""
    settings.PUBLIC_READ = False
    return settings
