"""A whole production system on this machine: PostgreSQL, Redis, two web servers, a worker, a clock.

Every part is a process of our own that can be killed and started again. Used by ``load`` and ``chaos``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
import requests

from benchmarks.ingest import ROOT, free_port

PARTS = ("postgres", "redis", "web-0", "web-1", "worker", "beat")


class System:
    """The parts, their addresses, and one folder for all that they keep."""

    def __init__(self, folder: Path, slots: int, *, room_mib: int = 0, **settings: str) -> None:
        """``room_mib``: the site's data has a disk of its own of that size, in memory; needs root."""
        self.folder = folder
        folder.chmod(0o711)
        self.room_mib = room_mib
        if room_mib:
            (folder / "data").mkdir(mode=0o700)
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={room_mib}m,mode=700", "tmpfs", folder / "data"],
                check=True,
            )  # fmt: skip
        self.ports = {name: free_port() for name in ("redis", "web-0", "web-1")}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.database_url = f"postgresql://postgres@{quote(str(folder / 'pg'), safe='')}/postgres"
        self.environment = {
            **os.environ, "DATA_DIR": str(folder / "data"), "DATABASE_URL": self.database_url,
            "BROKER_URL": f"redis://127.0.0.1:{self.ports['redis']}/0", "RLVRAM_MODE": "production",
            "SECRET_KEY": "for-one-run-of-a-benchmark-only-" * 2, "ALLOWED_HOSTS": "127.0.0.1",
            "HTTPS": "false", "DJANGO_SETTINGS_MODULE": "rlvram_site.settings", "API_WRITES_PER_MINUTE": "0",
            "API_READS_PER_MINUTE": "0", "JOB_LEASE_SECONDS": "20", "JOB_TAKE_BACK_SECONDS": "2",
            "JOB_RESEND_SECONDS": "4", "JOB_MAX_CLAIMS": "50", "DATABASE_POOL_SIZE": "8", "C_FORCE_ROOT": "1",
            "LOG_REQUESTS": "false", "FORGE_SYNC_SECONDS": "0", **settings,
        }  # fmt: skip
        self._as_server, self._bin = _postgres(folder)
        self.start("postgres")
        self.start("redis")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.ingest", "--prepare", str(slots), "--scopes", "jobs"],
            cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(done.stderr)
        self.key = done.stdout.split()[-1]
        self.manage("collectstatic", "--no-input", "--verbosity", "0")
        for part in PARTS[2:]:
            self.start(part)
        for number in range(2):
            wait(lambda number=number: self._answers(number), f"web-{number}")

    def start(self, part: str, *, moved_seconds: float = 0) -> None:
        """Start a part that is not running; a database is waited for. A web server's clock may be wrong."""
        environment = {**self.environment, "MOVED_SECONDS": str(moved_seconds)}
        with (self.folder / f"{part}.log").open("ab") as log:
            self.processes[part] = subprocess.Popen(
                self._command(part), cwd=ROOT if part != "postgres" else self.folder, env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        if part == "postgres":
            wait(self._database_answers, part)

    def kill(self, part: str) -> None:
        """End a part with all its children as a lost machine does: at once."""
        process = self.processes.pop(part)
        children = psutil.Process(process.pid).children(recursive=True)
        for one in (process, *children):
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()

    def address(self, number: int) -> str:
        """Where one of the two web servers answers."""
        return f"http://127.0.0.1:{self.ports[f'web-{number % 2}']}"

    def memory_mib(self) -> dict[str, float]:
        """Resident memory of each part with its children, MiB."""
        found = {}
        for part, process in self.processes.items():
            first = psutil.Process(process.pid)
            all_of_it = [first, *first.children(recursive=True)]
            found[part] = sum(one.memory_info().rss for one in all_of_it) / 2**20
        return found

    def shell(self, code: str) -> str:
        """What a piece of Python says that runs in the site."""
        return self.manage("shell", "--no-imports", "-c", code)

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(
                f"manage.py {' '.join(arguments)[:60]}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
            )
        return done.stdout

    def close(self) -> None:
        """End everything."""
        for part in list(self.processes):
            self.kill(part)
        if self.room_mib:
            subprocess.run(["umount", "--lazy", self.folder / "data"], check=True)

    def fill_disk(self) -> None:
        """Leave the site's disk a MiB; only for one with ``room_mib``."""
        free = shutil.disk_usage(self.folder / "data").free
        with (self.folder / "data" / "ballast").open("ab") as file:
            for _ in range(max(0, free // 2**20 - 1)):
                file.write(bytes(2**20))

    def free_disk(self) -> None:
        (self.folder / "data" / "ballast").unlink(missing_ok=True)

    def _command(self, part: str) -> list[str]:
        python, quiet = sys.executable, ["--loglevel", "error"]
        if part == "postgres":
            (self.folder / "pg" / "postmaster.pid").unlink(missing_ok=True)  # left by one that was killed
            return [
                *self._as_server, f"{self._bin}/postgres", "-D", str(self.folder / "pg"),
                "-k", str(self.folder / "pg"), "-c", "listen_addresses=", "-c", "max_connections=100",
            ]  # fmt: skip
        if part == "redis":
            return [
                shutil.which("redis-server") or "redis-server", "--port", str(self.ports["redis"]),
                "--bind", "127.0.0.1", "--dir", str(self.folder), "--appendonly", "yes",
            ]  # fmt: skip
        celery = [python, "-m", "celery", "--app", "rlvram_site", "--quiet"]
        if part == "worker":
            return [*celery, "worker", "--concurrency", "2", *quiet]
        if part == "beat":
            return [*celery, "beat", "--schedule", str(self.folder / "schedule"), "--pidfile", "", *quiet]
        return [
            python, "-m", "gunicorn", "--config", "python:benchmarks.moved_clock",
            "--bind", f"127.0.0.1:{self.ports[part]}", "--workers", "1", "--threads", "4",
            "--timeout", "60", "--log-level", "critical", "--no-control-socket",
        ]  # fmt: skip

    def _database_answers(self) -> bool:
        try:
            psycopg.connect(self.database_url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _answers(self, number: int) -> bool:
        try:
            return requests.get(f"{self.address(number)}/health/ready/", timeout=10).ok
        except requests.RequestException:
            return False


def wait(ready: Callable[[], object], what: str, seconds: float = 300) -> None:
    """Look again and again until it is so. Ends the benchmark if it never is."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not after {seconds:.0f} s")
        time.sleep(0.2)


def _postgres(folder: Path) -> tuple[list[str], Path]:
    """An empty cluster; returns how its programs are started (they refuse root) and where they are."""
    programs = max(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    ).parent
    as_server: list[str] = []
    (folder / "pg").mkdir(mode=0o700)
    if os.getuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        account = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        as_server = [
            "setpriv",
            f"--reuid={account.pw_uid}",
            f"--regid={account.pw_gid}",
            "--clear-groups",
            "--",
        ]
        os.chown(folder / "pg", account.pw_uid, account.pw_gid)
    subprocess.run(
        [*as_server, f"{programs}/initdb", "-D", folder / "pg", "--username=postgres", "--auth=trust",
         "--encoding=UTF8", "--locale=C.UTF-8"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return as_server, programs
