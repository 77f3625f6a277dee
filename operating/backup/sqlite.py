"""SQLite's online backup: a copy of one moment, while others read and write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.db import connections

from operating.backup.folder import BackupError

COPY = "backup_copy"


def copy_to(path: Path) -> None:
    """Copy the site's database as it is now into a new file.

    All pages in one step: the write-ahead log keeps readers and writers apart, and a copy in several steps
    would start again with each write of another process.
    """
    source = str(connections["default"].settings_dict["NAME"])
    if not Path(source).is_file():
        raise BackupError(f"{source}: there is no database yet; manage.py migrate makes one")
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(path)) as copy:
        live.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        _check(copy, path)


def copy_from(path: Path) -> None:
    """Make the site's database what the file is, in one transaction."""
    target = Path(connections["default"].settings_dict["NAME"])
    connections["default"].close()
    target.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as copy:
        _check(copy, path)
        with closing(sqlite3.connect(target, timeout=30)) as live:
            copy.backup(live)
            live.execute("PRAGMA journal_mode = WAL")
    target.chmod(0o600)


def empty() -> None:
    """Take everything out of the site's database."""
    target = Path(connections["default"].settings_dict["NAME"])
    connections["default"].close()
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(":memory:")) as nothing,
        closing(sqlite3.connect(target, timeout=30)) as live,
    ):
        nothing.backup(live)
        live.execute("PRAGMA journal_mode = WAL")
    target.chmod(0o600)


def _check(database: sqlite3.Connection, path: Path) -> None:
    try:
        answer = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise BackupError(f"{path}: {error}") from error
    if answer != "ok":
        raise BackupError(f"{path}: the database is damaged: {answer}")


@contextmanager
def reading(path: Path) -> Iterator[str]:
    """The name of a connection to the copied file, for reading it with the site's own models."""
    site = connections.databases["default"]
    connections.databases[COPY] = {
        **site, "NAME": str(path), "CONN_MAX_AGE": 0, "OPTIONS": {"transaction_mode": "DEFERRED"},
    }  # fmt: skip
    try:
        yield COPY
    finally:
        connections[COPY].close()
        del connections[COPY]
        del connections.databases[COPY]
