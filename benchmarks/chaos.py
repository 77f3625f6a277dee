"""The whole system with parts killed and started again at random, while attempts and jobs come in.

    python -m benchmarks.chaos --seed 1 --minutes 2

Who uploads tries again until an answer says that the attempt is recorded, as the uploader does. At the end
everything that was acknowledged is there once, no job is left, every chain is whole, and the outcomes equal
those of a second system to which the same was sent in peace. Exits 1 and says which of it does not hold.

As root the site's data has a small disk of its own, which is filled and freed. A web server that starts again
may have a clock that is wrong by up to two hours, either way.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import requests

from benchmarks.ingest import SLUG, attempt
from benchmarks.system import PARTS, System, wait

DISK = "disk"
ROOM_MIB = 96
MOST_MOVED_SECONDS = 7200
FAILED_LOG = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
STATES = """
import hashlib, json
from studies.models import Attempt, Job, Study
study = Study.objects.get(slug='SLUG')
rows = sorted(study.attempts.values_list('invocation_id', 'slot__experiment_id', 'outcome', 'peak_mib'))
print(json.dumps({
    'attempts': [row[0] for row in rows],
    'digest': hashlib.sha256(json.dumps(rows).encode()).hexdigest(),
    'unended': Job.objects.filter(state__in=['queued', 'running']).count(),
    'jobs': sorted(Job.objects.values_list('pk', flat=True)),
    'failed': list(Job.objects.filter(state='failed').values_list('error', flat=True)),
}))
""".replace("SLUG", SLUG)


def content(number: int) -> dict[str, Any]:
    """Every third invocation runs out of memory."""
    body = attempt(number, "chaos")
    return body if number % 3 else {**body, "exit_code": 1, "log": FAILED_LOG}


class Clients:
    """Uploaders that never give up, and somebody who starts jobs; they remember what was acknowledged."""

    def __init__(self, system: System, slots: int, seed: int) -> None:
        self.system, self.ended = system, threading.Event()
        self.acknowledged: list[int] = []
        self.jobs: list[int] = []
        self.refused = 0
        self.full = 0
        self._numbers = iter(range(slots))
        self._lock = threading.Lock()
        self._random = random.Random(seed)
        self.threads = [
            threading.Thread(target=work) for work in (self._upload, self._upload, self._start_jobs)
        ]
        for thread in self.threads:
            thread.start()

    def _post(self, path: str, body: Any) -> dict[str, Any] | None:
        """One try; None where nothing was acknowledged."""
        headers = {"Authorization": f"Api-Key {self.system.key}"}
        with self._lock:
            where = self.system.address(self._random.randrange(2))
        try:
            answer = requests.post(where + path, json=body, headers=headers, timeout=60)
        except requests.RequestException:
            answer = None
        if answer is not None and answer.status_code in (200, 201, 202):
            return answer.json()
        if answer is not None and answer.status_code < 500:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text[:300]}")
        with self._lock:
            if answer is not None and answer.status_code == 507:
                self.full += 1
            else:
                self.refused += 1
        time.sleep(0.3)
        return None

    def _upload(self) -> None:
        while not self.ended.is_set():
            with self._lock:
                number = next(self._numbers, None)
            if number is None:
                return
            # What was begun is brought to its end, also after the last kill.
            while self._post(f"/api/v1/studies/{SLUG}/attempts/", content(number)) is None:
                pass
            with self._lock:
                self.acknowledged.append(number)
            time.sleep(0.05)

    def _start_jobs(self) -> None:
        while not self.ended.is_set():
            started = self._post("/api/v1/jobs/", {"kind": "export", "study": SLUG, "parameters": {}})
            if started is not None:
                self.jobs.append(started["id"])
            self.ended.wait(2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--slots", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlvram-chaos-") as name:
        stormy, acknowledged, problems = storm(Path(name), options)
    with tempfile.TemporaryDirectory(prefix="rlvram-calm-") as name:
        calm = peace(Path(name), options.slots, acknowledged)
    if calm["digest"] != stormy["digest"]:
        problems.append("outcomes differ from those of a calm run")
    for problem in problems:
        print(f"PROBLEM  {problem}")
    print("everything holds" if not problems else f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


def storm(folder: Path, options: argparse.Namespace) -> tuple[dict[str, Any], list[int], list[str]]:
    """Uploads and jobs among kills; what is there afterwards, what was acknowledged, and what is wrong."""
    chance, own_disk = random.Random(options.seed), os.geteuid() == 0
    system = System(folder, options.slots, room_mib=ROOM_MIB if own_disk else 0, DISK_RESERVE_MIB="16")
    kills: dict[str, int] = dict.fromkeys([*PARTS, *([DISK] if own_disk else [])], 0)
    moved = 0
    try:
        clients = Clients(system, options.slots, options.seed)
        end = time.monotonic() + options.minutes * 60
        while time.monotonic() < end:
            time.sleep(chance.uniform(1, 6))
            part = chance.choice([*kills])
            kills[part] += 1
            if part == DISK:
                system.fill_disk()
                time.sleep(chance.uniform(1, 4))
                system.free_disk()
                continue
            system.kill(part)
            time.sleep(chance.uniform(0, 3))
            wrong_by = chance.choice([0, chance.uniform(-MOST_MOVED_SECONDS, MOST_MOVED_SECONDS)])
            moved += bool(wrong_by) and part.startswith("web")
            system.start(part, moved_seconds=wrong_by)
        clients.ended.set()
        for thread in clients.threads:
            thread.join()
        print(f"killed or filled: {json.dumps(kills)}; starts with a wrong clock: {moved}", flush=True)
        print(f"refused with 507: {clients.full}; tries without an answer: {clients.refused}", flush=True)
        wait(lambda: json.loads(system.shell(STATES))["unended"] == 0, "no job is stuck")
        found = json.loads(system.shell(STATES))
        system.manage("verify_ledger")
        return found, clients.acknowledged, wrong(found, clients)
    finally:
        system.close()


def wrong(found: dict[str, Any], clients: Clients) -> list[str]:
    """What was acknowledged and is not there once."""
    problems = []
    expected = sorted(f"chaos-{number}" for number in clients.acknowledged)
    if sorted(found["attempts"]) != expected:
        problems.append(f"{len(found['attempts'])} attempts are there, {len(expected)} were acknowledged")
    if missing := set(clients.jobs) - set(found["jobs"]):
        problems.append(f"{len(missing)} acknowledged jobs are not there")
    if found["failed"]:
        problems.append(f"{len(found['failed'])} jobs failed, the first: {found['failed'][0]}")
    print(
        f"acknowledged: {len(expected)} attempts, {len(clients.jobs)} jobs; every chain is whole", flush=True
    )
    return problems


def peace(folder: Path, slots: int, numbers: list[int]) -> dict[str, Any]:
    """The same uploads to a second system, in order, undisturbed."""
    system = System(folder, slots)
    try:
        headers = {"Authorization": f"Api-Key {system.key}"}
        rows = [content(number) for number in sorted(numbers)]
        for start in range(0, len(rows), 200):
            requests.post(
                f"{system.address(0)}/api/v1/studies/{SLUG}/attempts/batch/",
                json={"attempts": rows[start : start + 200]}, headers=headers, timeout=600,
            ).raise_for_status()  # fmt: skip
        return json.loads(system.shell(STATES))
    finally:
        system.close()


if __name__ == "__main__":
    main()
