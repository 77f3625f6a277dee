"""Counts that the processes of one machine share without a server: a cache in one SQLite file.

For numbers that are asked for with each request and may be lost, as those of a rate limit. It is not the
database of the site: counting never waits for somebody who records.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

_log = logging.getLogger(__name__)
_TABLE = "CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, number INTEGER, ends REAL) WITHOUT ROWID"
WAIT = 1.0  # s, for another process that is counting


class CountsFile(BaseCache):
    """Whole numbers by key. While the file can't be written nothing is found and nothing is kept."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._path = Path(location)

    def add(self, key: str, value: int, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Begin at ``value``; False if the key is there. Counts that have ended are dropped."""
        ends = self.get_backend_timeout(timeout)
        try:
            with self._open() as file:
                file.execute("DELETE FROM counts WHERE ends <= ?", [time.time()])
                done = file.execute(
                    "INSERT OR IGNORE INTO counts VALUES (?, ?, ?)",
                    [self.make_and_validate_key(key, version), value, ends],
                )
                return done.rowcount == 1
        except sqlite3.Error as error:
            _log.warning("counts can't be kept in %s: %s", self._path, error)
            return False

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        try:
            with self._open() as file:
                return self._number(file, self.make_and_validate_key(key, version)) or default
        except sqlite3.Error as error:
            _log.warning("counts can't be read in %s: %s", self._path, error)
            return default

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Count on, in one step for all processes. Raises ``ValueError`` for a key that is not there."""
        name = self.make_and_validate_key(key, version)
        try:
            with self._open() as file:
                file.execute(
                    "UPDATE counts SET number = number + ? WHERE name = ? AND (ends IS NULL OR ends > ?)",
                    [delta, name, time.time()],
                )
                number = self._number(file, name)
        except sqlite3.Error as error:
            raise ValueError(f"{key!r} can't be counted in {self._path}: {error}") from error
        if number is None:
            raise ValueError(f"nothing is counted under {key!r}")
        return number

    def clear(self) -> None:
        with self._open() as file:
            file.execute("DELETE FROM counts")

    def _number(self, file: sqlite3.Connection, name: str) -> int | None:
        found = file.execute(
            "SELECT number FROM counts WHERE name = ? AND (ends IS NULL OR ends > ?)", [name, time.time()]
        ).fetchone()
        return found[0] if found else None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction that holds the file, so that what it reads is what it wrote."""
        file = sqlite3.connect(self._path, timeout=WAIT, isolation_level=None)
        try:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = OFF")
            file.execute(_TABLE)
            file.execute("BEGIN IMMEDIATE")
            yield file
            file.execute("COMMIT")
        finally:
            file.close()
