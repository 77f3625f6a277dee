"""Other real processes on the test's own database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO
from urllib.parse import quote

from django.db import connection

ROOT = Path(__file__).resolve().parent.parent


def database_url() -> str:
    """``DATABASE_URL`` of the database that the running test uses."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    password = f":{quote(database['PASSWORD'], safe='')}" if database["PASSWORD"] else ""
    place = quote(database["HOST"], safe="") + (f":{database['PORT']}" if database["PORT"] else "")
    return f"postgresql://{quote(database['USER'], safe='')}{password}@{place}/{database['NAME']}"


def start_python(
    *arguments: str, output: IO[str] | int = subprocess.PIPE, **environment: str
) -> subprocess.Popen[str]:
    """``python ARGUMENTS`` from the repository root, with the site's real settings on the test's database."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "rlvram_site.settings",
            "DATABASE_URL": database_url(),
            "DATABASE_POOL_SIZE": "2",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        text=True,
    )
