"""Empty databases beside the test's own, on the same engine, and commands on them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import psycopg
from django.core.management import CommandError, call_command
from django.db import connection

from tests.processes import database_url, start_python


def manage(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """``manage.py ARGUMENTS`` with the site's real settings, on the test's database unless told otherwise."""
    process = start_python("manage.py", *map(str, arguments), **environment)
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def here(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same in the test's own process and on its settings, which saves a start."""
    out, err = StringIO(), StringIO()
    try:
        call_command(*map(str, arguments), stdout=out, stderr=err)
    except CommandError as error:
        return subprocess.CompletedProcess(arguments, 1, out.getvalue(), f"{err.getvalue()}{error}")
    return subprocess.CompletedProcess(arguments, 0, out.getvalue(), err.getvalue())


@contextmanager
def another_database(folder: Path, engine: str = "") -> Iterator[str]:
    """The address of an empty database, on the test's engine or the named one; it is gone afterwards."""
    if (engine or connection.vendor) == "sqlite":
        yield f"sqlite:///{folder / 'another.sqlite3'}"
        return
    name = f"another_{folder.name.replace('-', '_').lower()}_{abs(hash(str(folder))) % 10**8}"
    base, _, _own = database_url().rpartition("/")
    with psycopg.connect(f"{base}/postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
    try:
        yield f"{base}/{name}"
    finally:
        with psycopg.connect(f"{base}/postgres", autocommit=True) as server:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
