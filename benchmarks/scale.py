"""What each page costs as studies grow: queries, rows, time and bytes, and how each of them grows.

    python -m benchmarks.scale [--sizes 100,1000] [--postgres URL] [--keep FOLDER] [--repeat N]

For each size it makes a study of so many configurations with ten attempts each (``benchmarks.scale_study``),
asks for every page of it, and prints a line a page: median and 95th percentile of the server's time in ms
with nothing remembered (``first``) and again (``again``), queries and rows read when nothing is remembered,
bytes as sent and compressed. Behind the sizes stands the growth exponent of the first time: 0 is flat, 1 is
as fast as the study grows. ``--postgres`` is a database of a PostgreSQL server; each size gets one beside it.
``--keep`` keeps the databases there and uses them again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent
STUDY = "studies/scale"


def addresses(middle: str) -> dict[str, str]:
    """Every page by its name here; ``middle`` is a configuration from the middle of the study."""
    slot, attempt = f"{middle}-seed151", f"{middle}-seed151-0"
    return {
        "home": "/",
        "overview": f"/{STUDY}/",
        "unscored": f"/{STUDY}/unscored/",
        "configurations": f"/{STUDY}/configurations/",
        "configurations, filtered": f"/{STUDY}/configurations/?state=memory_failure&sort=-label&gpus=2",
        "configurations, page 3": f"/{STUDY}/configurations/?page=3",
        "one configuration": f"/{STUDY}/configurations/{middle}/",
        "outcomes": f"/{STUDY}/outcomes/",
        "slot": f"/{STUDY}/slots/{slot}/",
        "attempt": f"/{STUDY}/attempts/{attempt}/",
        "history": f"/{STUDY}/history/",
        "history, page 3": f"/{STUDY}/history/?page=3",
        "history, as of": f"/{STUDY}/history/?as_of=2026-08-01T02:00:00",
        "pairs": f"/{STUDY}/pairs/",
        "costs": f"/{STUDY}/costs/",
        "events": f"/{STUDY}/events/",
        "methods": f"/{STUDY}/methods/",
        "one method": f"/{STUDY}/methods/donor_copy/",
        "protocol": f"/{STUDY}/protocol/",
        "commits": f"/{STUDY}/commits/",
        "pool": "/pools/rlvrambench/",
        "pool's configurations": "/pools/rlvrambench/configurations/",
        "API: attempts": "/api/v1/studies/scale/attempts/",
        "API: slots": "/api/v1/studies/scale/slots/",
    }


class Counter:
    """Queries, and rows that the database handed over."""

    def __init__(self) -> None:
        self.queries = 0
        self.rows = 0


@contextmanager
def counted() -> Iterator[Counter]:
    """Counts what the default connection is asked and answers inside the block."""
    from django.db import connection
    from django.db.backends.utils import CursorWrapper

    found = Counter()

    def execute(run, sql, parameters, many, context):
        found.queries += 1
        return run(sql, parameters, many, context)

    def fetching(name: str):
        def fetch(self, *args):
            rows = getattr(self.cursor, name)(*args)
            found.rows += (rows is not None) if name == "fetchone" else len(rows)
            return rows

        return fetch

    names = ("fetchone", "fetchmany", "fetchall")
    for name in names:
        setattr(CursorWrapper, name, fetching(name))
    try:
        with connection.execute_wrapper(execute):
            yield found
    finally:
        for name in names:
            delattr(CursorWrapper, name)


def measure(size: int, repeat: int) -> dict[str, dict[str, float]]:
    """Every page of the study in the present database."""
    from django.core.cache import cache
    from django.test import Client

    client = Client(HTTP_HOST="localhost")
    results = {}
    for name, address in addresses(f"c{size // 2:06d}").items():
        cache.clear()
        with counted() as database:
            answer = client.get(address)
        if answer.status_code != 200:
            print(f"{name}: {address} answered {answer.status_code}", file=sys.stderr)
            continue
        body = answer.content
        first, again = [], []
        for times, forget in ((first, True), (again, False)):
            for _ in range(repeat):
                if forget:
                    cache.clear()
                started = time.perf_counter()
                client.get(address)
                times.append((time.perf_counter() - started) * 1000)
                if sum(times) > 20_000:
                    break
        results[name] = {
            "first": statistics.median(first), "first_p95": _p95(first),
            "again": statistics.median(again), "again_p95": _p95(again),
            "queries": database.queries, "rows": database.rows,
            "bytes": len(body), "compressed": len(gzip.compress(body)),
        }  # fmt: skip
    return results


def _p95(times: list[float]) -> float:
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def child(size: int, repeat: int) -> None:
    """Make the study unless it is there, measure, and print the results as JSON."""
    import django

    django.setup()
    from django.core.management import call_command

    from benchmarks.scale_study import make_scale_study
    from studies.models import Event

    call_command("migrate", verbosity=0)
    if not Event.objects.filter(study__slug="scale").exists():  # the last that is recorded
        started = time.perf_counter()
        make_scale_study(size)
        from rlvram_site.ledger.models import LedgerEntry

        seconds, links = time.perf_counter() - started, LedgerEntry.objects.count()
        print(f"made {size}: {links} records in {seconds:.0f} s, {links / seconds:.0f}/s", file=sys.stderr)
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    print(json.dumps(measure(size, repeat)))


def run_child(size: int, repeat: int, folder: Path, database_url: str) -> dict[str, dict[str, float]]:
    """The results of one size, from a process of its own."""
    environment = {
        **os.environ, "DATA_DIR": str(folder), "DATABASE_URL": database_url, "RLVRAM_MODE": "embedded",
        "DJANGO_SETTINGS_MODULE": "rlvram_site.settings", "PUBLIC_READ": "true", "DEBUG": "false",
        "API_READS_PER_MINUTE": "0",
    }  # fmt: skip
    if not (folder / "static").exists():
        subprocess.run([sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"], cwd=ROOT,
                       env=environment, check=True)  # fmt: skip
    command = [sys.executable, "-m", "benchmarks.scale", "--child", str(size), "--repeat", str(repeat)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def postgres_database(url: str, size: int) -> str:
    """The address of the database of one size on the server of ``url``, made if it is not there."""
    import psycopg

    parts = urlsplit(url)
    name = f"{parts.path.lstrip('/')}_scale_{size}"
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if not found:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
    return urlunsplit(parts._replace(path=f"/{name}"))


def exponent(values: dict[int, float]) -> float | None:
    """The slope of log(value) over log(size), by least squares; None with one size."""
    points = [(math.log(size), math.log(max(value, 1e-9))) for size, value in values.items()]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def show(engine: str, results: dict[int, dict[str, dict[str, Any]]]) -> None:
    """One line a page and size, and the slowest page of each size."""
    sizes = sorted(results)
    pages = list(dict.fromkeys(name for found in results.values() for name in found))
    print(f"\n{engine}\n{'page':26}{'size':>8}{'first ms':>10}{'p95':>8}{'again':>8}{'p95':>8}"
          f"{'queries':>9}{'rows':>9}{'kB':>8}{'gzip':>7}  growth")  # fmt: skip
    for page in pages:
        grows = exponent({size: results[size][page]["first"] for size in sizes if page in results[size]})
        for size in sizes:
            if row := results[size].get(page):
                tail = f"{grows:6.2f}" if grows is not None and size == sizes[-1] else ""
                print(
                    f"{page:26}{size:8}{row['first']:10.1f}{row['first_p95']:8.1f}{row['again']:8.1f}"
                    f"{row['again_p95']:8.1f}{row['queries']:9.0f}{row['rows']:9.0f}"
                    f"{row['bytes'] / 1000:8.1f}{row['compressed'] / 1000:7.1f}  {tail}"
                )
    for size in sizes:
        name, row = max(results[size].items(), key=lambda item: item[1]["first"])
        print(f"slowest at {size}: {name}, {row['first']:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="100,1000", help="configurations, comma separated")
    parser.add_argument("--postgres", metavar="URL", help="a database of a PostgreSQL server")
    parser.add_argument("--keep", type=Path, help="folder whose databases are used again")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.repeat)
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    folder = options.keep or Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        results = {}
        for size in sizes:
            place = folder / str(size)
            place.mkdir(parents=True, exist_ok=True)
            url = (
                postgres_database(options.postgres, size)
                if options.postgres
                else f"sqlite:///{place}/site.sqlite3"
            )
            results[size] = run_child(size, options.repeat, place.resolve(), url)
        show("PostgreSQL" if options.postgres else "SQLite", results)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
