"""Databases that many tests start from. Each is built once per process, as a copy of the empty test database;
what a test changes in it is rolled back.

A test names one through the fixture of the same name. Another world that several modules need is one more
builder here, and a fixture that calls ``ensure``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

from django.core.management import call_command
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
ISSUE = ROOT / "admission" / "samples" / "art-848.json"
STUDIES = ROOT / "studies" / "samples" / "rlvrambench.json"


def real_archive() -> Path | None:
    """The real study archive beside the repository, or None in a plain clone."""
    path = ROOT.parent / "shared" / "rlvrambench"
    return path if path.is_dir() else None


def _everything() -> None:
    call_command("load_samples", verbosity=0)


def _issue() -> None:
    call_command("import_record", str(ISSUE), stdout=StringIO())


def _both_studies() -> None:
    call_command("import_study", str(real_archive() or STUDIES), verbosity=0)


def _not_launched() -> None:
    from tests.studies_archive.archives import write_archive

    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(Path(folder))
        archive.path("benchmark/estimation/execution_history.json").unlink()
        for path in archive.path("benchmark/estimation/results").iterdir():
            path.unlink()
        call_command("import_study", folder, "--study", "estimation", verbosity=0)


BUILDERS: dict[str, Callable[[], None]] = {
    "sample_studies": _everything,
    "art_848": _issue,
    "imported": _both_studies,
    "planned": _not_launched,
}
"""What fills the database of each fixture. A test that names two starts from the first and fills up."""


class StartDatabases:
    """The copies that this process has made so far."""

    def __init__(self) -> None:
        self.current: str | None = None
        self._names: dict[str, str] = {}
        self._before = ""

    def enter(self, fixtures: Iterable[str]) -> None:
        """Point the default connection at the database of the first of ``fixtures`` that has one."""
        wanted = next(name for name in BUILDERS if name in set(fixtures))
        if wanted not in self._names:
            self._names[wanted] = _built(wanted)
        self._before = _use_database(self._names[wanted])
        self.current = wanted

    def leave(self) -> None:
        """Point it at the empty test database again."""
        _use_database(self._before)
        self.current = None

    def ensure(self, fixture: str) -> None:
        """Fill the present database, unless it is the one of ``fixture``: a transactional test has none."""
        if self.current != fixture:
            BUILDERS[fixture]()

    def remove(self) -> None:
        for fixture in self._names:
            connection.creation.destroy_test_db(suffix=fixture, verbosity=0)


def _built(fixture: str) -> str:
    connection.close()  # on SQLite this also moves the write-ahead log into the file that gets copied
    _end_other_sessions()
    connection.creation.clone_test_db(fixture, verbosity=0)
    name = connection.creation.get_test_db_clone_settings(fixture)["NAME"]
    empty = _use_database(name)
    try:
        BUILDERS[fixture]()
    finally:
        _use_database(empty)
    return name


def _end_other_sessions() -> None:
    """PostgreSQL copies no database that others use: a server under test keeps its connections."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    connection.close()
    connection.close_pool()


def _use_database(name: str) -> str:
    """Point the default connection at another database of the same server; returns the name it had."""
    before = connection.settings_dict["NAME"]
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
    connection.settings_dict["NAME"] = name
    return before
