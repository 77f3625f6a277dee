"""``pg_dump`` and ``pg_restore`` in the right version, on the site's connection, no password in sight."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from operating.backup.folder import BackupError

DEBIAN = Path("/usr/lib/postgresql")


@contextmanager
def frozen() -> Iterator[str]:
    """A transaction that sees one moment; yields the name under which ``pg_dump`` sees the same."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        yield cursor.fetchone()[0]


def dump(path: Path, snapshot: str) -> None:
    """Write the database as it was at ``snapshot`` into a new file in ``pg_dump``'s custom format."""
    _run(
        [
            program("pg_dump", server_major()), "--format=custom", "--no-owner", "--no-privileges",
            f"--snapshot={snapshot}", f"--file={path}", "--no-password",
        ],
        with_database="--dbname",
    )  # fmt: skip


def check(path: Path) -> None:
    """Raises ``BackupError`` if ``pg_restore`` can't read the file's table of contents."""
    _run([program("pg_restore", 0), "--list", str(path)])


def restore(path: Path) -> None:
    """Fill the site's empty database from the file, in one transaction."""
    _run(
        [
            program("pg_restore", server_major()), "--exit-on-error", "--single-transaction", "--no-owner",
            "--no-privileges", "--no-password", str(path),
        ],
        with_database="--dbname",
    )  # fmt: skip


def empty() -> None:
    """Drop every table and function of the site's schema."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()")
        tables = [row[0] for row in cursor.fetchall()]
        if tables:
            cursor.execute(f"DROP TABLE {', '.join(tables)} CASCADE")
        cursor.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc p "
            "WHERE p.pronamespace = current_schema()::regnamespace AND NOT EXISTS "
            "(SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP ROUTINE {name} CASCADE")


def server_major() -> int:
    """The server's version, for example 15."""
    connection.ensure_connection()
    return connection.connection.info.server_version // 10000


def program(name: str, at_least: int) -> str:
    """The path of a program of PostgreSQL whose version is not below the server's.

    The one on PATH if it will do, else the lowest that Debian keeps. Raises ``BackupError`` that says what
    to install.
    """
    on_path = shutil.which(name)
    places = ([Path(on_path)] if on_path else []) + sorted(DEBIAN.glob(f"*/bin/{name}"), key=_number)
    versions = [(major, place) for place in places if (major := _major_of(place))]
    for major, place in versions:
        if major >= at_least:
            return str(place)
    if not versions:
        raise BackupError(
            f"{name} was not found. Install PostgreSQL's client programs (on Debian: "
            f"apt-get install postgresql-client{f'-{at_least}' if at_least else ''}), or use --form rows"
        )
    newest = max(major for major, _ in versions)
    raise BackupError(
        f"{name} has version {newest}, the server {at_least}; expected {name} {at_least} or newer "
        f"(on Debian: apt-get install postgresql-client-{at_least}), or use --form rows"
    )


def _number(path: Path) -> int:
    found = re.search(r"/(\d+)/bin/", str(path))
    return int(found[1]) if found else 0


def _major_of(place: Path) -> int:
    """0 if the program does not start, as Debian's wrapper without a server's client does."""
    try:
        said = subprocess.run(  # noqa: S603 - a program of PostgreSQL
            [place, "--version"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return 0
    found = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(found[1]) if found else 0


def _conninfo() -> tuple[str, str]:
    """The site's connection as libpq takes it, without its password, and the password."""
    from psycopg import conninfo, pq

    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    given: dict[str, Any] = {
        key: value for key, value in connection.get_connection_params().items() if key in known
    }
    password = given.pop("password", None) or ""
    return conninfo.make_conninfo(**given), str(password)


def _run(command: list[str], with_database: str = "") -> None:
    environment = dict(os.environ)
    if with_database:
        database, password = _conninfo()
        command = [command[0], f"{with_database}={database}", *command[1:]]
        # Other people see a command line, but not another's environment.
        if password:
            environment["PGPASSWORD"] = password
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL, without a shell
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise BackupError(f"{Path(command[0]).name} failed: {' '.join(said[:3])}")
