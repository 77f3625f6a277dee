"""Databases that many tests start from. Each is built once per process, as a copy of the empty database that
was set aside before the first test; what a test changes in it is rolled back.

The test database itself is no source for copies: servers and workers under test keep it open, and what they
wrote last may still stand beside its file.

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
    """The copies that this process has made so far. Made before the first test, when nobody else is there."""

    def __init__(self) -> None:
        connection.close()  # on SQLite this moves the write-ahead log into the file that gets copied
        if connection.vendor == "postgresql":
            connection.close_pool()
        self._empty = _clone("empty")
        self.current: str | None = None
        self._names: dict[str, str] = {}
        self._before = ""

    def enter(self, fixtures: Iterable[str]) -> None:
        """Point the default connection at the database of the first of ``fixtures`` that has one."""
        wanted = next(name for name in BUILDERS if name in set(fixtures))
        if wanted not in self._names:
            self._names[wanted] = self._built(wanted)
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
            before = _use_database(self._empty)
            connection.creation.destroy_test_db(suffix=fixture, verbosity=0)
            _use_database(before)
        connection.creation.destroy_test_db(suffix="empty", verbosity=0)

    def _built(self, fixture: str) -> str:
        before = _use_database(self._empty)
        try:
            name = _clone(fixture)
            _use_database(name)
            BUILDERS[fixture]()
        finally:
            _use_database(before)
        return name


def _clone(suffix: str) -> str:
    """A copy of the current database; its name."""
    connection.creation.clone_test_db(suffix, verbosity=0)
    return connection.creation.get_test_db_clone_settings(suffix)["NAME"]


def _use_database(name: str) -> str:
    """Point the default connection at another database of the same server; returns the name it had."""
    before = connection.settings_dict["NAME"]
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()
    connection.settings_dict["NAME"] = name
    return before
