"""``./run``: the one command that sets everything up and serves it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.site.prepared import run, shell_environment


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(ROOT / "run"), *map(str, arguments)],
        env=shell_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A suite that runs in the background ignores Ctrl-C, and a shell can't take that back for itself.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        if match := re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\n", line):
            return match[1]
    raise AssertionError(process.stderr.read() if process.stderr else "")


def get(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.status, answer.read().decode()


def processes_of_session(leader: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "0"], "--port 0: expected a number from 1 to 65535"),
        (["--port", "70000"], "--port 70000: expected a number from 1 to 65535"),
        (["--port", "http"], "--port http: expected a number from 1 to 65535"),
        (["--port"], "--port needs a value"),
        (["--data"], "--data needs a value"),
        (["--data", "/proc/none"], "--data /proc/none: the folder cannot be made"),
        (["--prot", "1"], "unknown argument: --prot"),
    ],
)
def test_wrong_arguments_are_explained(arguments, message):
    done = run(*arguments)
    assert done.returncode == 1
    assert f"error: {message}" in done.stderr


def test_help_names_every_option():
    done = run("--help")
    assert done.returncode == 0
    assert all(option in done.stdout for option in ("--port N", "--data DIR", "--no-serve"))


def test_a_second_preparation_keeps_login_secret_and_studies(prepared_data):
    def state():
        with sqlite3.connect(prepared_data / "site.sqlite3") as database:
            return [
                database.execute("SELECT username, password FROM auth_user").fetchall(),
                database.execute("SELECT stream_id, sequence, sha256 FROM ledger_ledgerentry").fetchall(),
                (prepared_data / "secret-key").read_text(),
                (prepared_data / "admin-password").read_text(),
            ]

    before = state()
    done = run("--no-serve", "--data", prepared_data, cwd=Path("/"))
    assert done.returncode == 0, done.stderr
    assert "login admin exists" in done.stdout
    assert state() == before


def test_a_folder_in_use_is_named(prepared_data):
    with (prepared_data / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run("--no-serve", "--data", prepared_data)
    assert done.returncode == 1
    assert f"another ./run is using {prepared_data}; stop it first, or choose another folder" in done.stderr


def test_a_port_in_use_is_named(tmp_path):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        done = run("--port", port, "--data", tmp_path)
    assert done.returncode == 1
    assert f"port {port} cannot be used (Address already in use); choose another with --port" in done.stderr


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_stopped_and_leaves_nothing_behind(prepared_data, free_port, stop):
    process = start("--port", free_port, "--data", prepared_data)
    address = wait_for_address(process)
    assert address == f"http://127.0.0.1:{free_port}"
    assert get(address + "/")[0] == 200
    assert get(address + "/health/ready/") == (200, '{"status": "ready"}')
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', get(address + "/login/")[1])
    assert files
    assert {
        get(address + path)[0] for path in [*files, "/static/vendor/plotly-basic-4.1.1/plotly-basic.min.js"]
    } == {200}
    # The worker does its first work: it walks the ledger.
    answer = {"status": "not checked yet"}
    while answer["status"] == "not checked yet":
        time.sleep(0.2)
        assert process.poll() is None
        answer = json.loads(get(address + "/health/ledger/")[1])
    assert answer["status"] == "passed"
    process.send_signal(stop)
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert processes_of_session(process.pid) == []


def workers_of(process: subprocess.Popen[str]) -> set[int]:
    """The worker itself, without the processes that it made."""
    found = set()
    for pid in processes_of_session(process.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            one, parent = psutil.Process(pid), psutil.Process(pid).parent()
            if "celery" in " ".join(one.cmdline()) and parent and "celery" not in " ".join(parent.cmdline()):
                found.add(pid)
    return found


def test_a_dead_worker_starts_again_and_with_the_pages_everything_ends(prepared_data, free_port):
    process = start("--port", free_port, "--data", prepared_data)
    address = wait_for_address(process)
    while not (lost := workers_of(process)):
        time.sleep(0.1)
    for pid in lost:
        os.kill(pid, signal.SIGKILL)
    while not workers_of(process) - lost:
        assert process.poll() is None
        time.sleep(0.1)
    assert get(address + "/health/ready/") == (200, '{"status": "ready"}')
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    site = next(pid for pid in children if b"gunicorn" in Path(f"/proc/{pid}/cmdline").read_bytes())
    subprocess.run(["kill", "-TERM", site], check=True)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "the worker ended by itself; it starts again in 5 seconds" in errors
    assert "a part of the site ended by itself" in errors
    assert processes_of_session(process.pid) == []
