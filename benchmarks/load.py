"""Readers, uploaders and jobs at once against two web servers on PostgreSQL and Redis.

    python -m benchmarks.load [--slots 3000] [--seconds 60] [--readers 4] [--uploaders 2]

Prints requests, errors and percentiles by kind of request, jobs, memory at the start and at the end, and how
much the database grew.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from itertools import count
from pathlib import Path

import requests

from benchmarks.ingest import SLUG, attempt
from benchmarks.system import System, wait

PAGES = (
    f"/studies/{SLUG}/", f"/studies/{SLUG}/configurations/", f"/studies/{SLUG}/outcomes/",
    f"/api/v1/studies/{SLUG}/attempts/?page_size=50", "/jobs/", "/",
)  # fmt: skip


class Seen:
    """What happened to requests of one kind."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors: dict[str, int] = {}

    def add(self, seconds: float, problem: str) -> None:
        self.seconds.append(seconds)
        if problem:
            self.errors[problem] = self.errors.get(problem, 0) + 1

    def line(self, what: str, whole: float) -> str:
        if len(self.seconds) < 2:
            return f"{what}: {len(self.seconds)} requests"
        cuts = statistics.quantiles(self.seconds, n=100, method="inclusive")
        return (
            f"{what}: {len(self.seconds)} requests, {len(self.seconds) / whole:.1f}/s, "
            f"50 % within {cuts[49] * 1000:.0f} ms, 95 % {cuts[94] * 1000:.0f} ms, "
            f"99 % {cuts[98] * 1000:.0f} ms, "
            f"longest {max(self.seconds) * 1000:.0f} ms; errors: {self.errors or 'none'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("slots", 3000), ("seconds", 60), ("readers", 4), ("uploaders", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlvram-load-") as name:
        system = System(Path(name), options.slots, PUBLIC_READ="true")
        try:
            measure(system, options)
        finally:
            system.close()


def measure(system: System, options: argparse.Namespace) -> None:
    headers = {"Authorization": f"Api-Key {system.key}"}
    seen = {what: Seen() for what in ("pages", "uploads", "jobs")}
    numbers = count()
    lock = threading.Lock()

    def ask(what: str, method: str, path: str, body: object = None) -> None:
        started = time.perf_counter()
        with lock:
            number = next(numbers)
        try:
            answer = requests.request(
                method, system.address(number) + path, headers=headers, json=body, timeout=120
            )
            problem = "" if answer.ok else str(answer.status_code)
        except requests.RequestException as error:
            problem = type(error).__name__
        with lock:
            seen[what].add(time.perf_counter() - started, problem)

    def read(offset: int) -> None:
        for turn in count(offset):
            if time.monotonic() > end:
                return
            ask("pages", "GET", PAGES[turn % len(PAGES)])

    slots = iter(range(options.slots))

    def upload(_: int) -> None:
        while time.monotonic() < end:
            with lock:
                slot = next(slots, None)
            if slot is None:
                return
            ask("uploads", "POST", f"/api/v1/studies/{SLUG}/attempts/", attempt(slot, "load"))

    def start_jobs(_: int) -> None:
        while time.monotonic() < end:
            ask("jobs", "POST", "/api/v1/jobs/", {"kind": "export", "study": SLUG, "parameters": {}})
            time.sleep(2)

    size = (
        "from django.db import connection; cursor = connection.cursor();"
        "cursor.execute('SELECT pg_database_size(current_database())'); print(cursor.fetchone()[0])"
    )
    before, memory = int(system.shell(size)), system.memory_mib()
    threads = [
        threading.Thread(target=work, args=(number,))
        for work, many in ((read, options.readers), (upload, options.uploaders), (start_jobs, 1))
        for number in range(many)
    ]
    started = time.monotonic()
    end = started + options.seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = time.monotonic() - started
    for what, one in seen.items():
        print(one.line(what, whole))
    unended = (
        "from studies.models import Job; print(Job.objects.filter(state__in=['queued','running']).count())"
    )
    wait(lambda: int(system.shell(unended)) == 0, "all jobs ended")
    print("jobs by state:", system.shell(
        "from studies.models import Job; from django.db.models import Count; import json;"
        "print(json.dumps(dict(Job.objects.order_by().values_list('state').annotate(Count('pk')))))"
    ).strip())  # fmt: skip
    after = system.memory_mib()
    parts = {part: f"{memory[part]:.0f} -> {after[part]:.0f}" for part in memory}
    print("memory, MiB:", json.dumps(parts))
    uploads = len(seen["uploads"].seconds) or 1
    grown = int(system.shell(size)) - before
    print(f"database: {grown / 2**20:.1f} MiB more, {grown / uploads / 1024:.1f} KiB for each upload")
    system.manage("verify_ledger")
    print("ledger: every chain is whole")


if __name__ == "__main__":
    main()
