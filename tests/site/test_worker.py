"""Real workers on real brokers: the local folder, and Redis."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time

import pytest

from rlvram_site.ledger.models import LedgerCheck
from tests.factories import make_small_study
from tests.processes import start_python

WORKER = ["-m", "celery", "--app", "rlvram_site", "--quiet", "worker", "--concurrency", "2"]


@pytest.fixture
def redis_url(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = shutil.which("redis-server")
    assert server, "redis-server is missing; ./test installs it"
    process = subprocess.Popen(
        [server, "--port", str(port), "--bind", "127.0.0.1", "--dir", tmp_path, "--requirepass", "secret"],
        stdout=subprocess.DEVNULL,
    )
    yield f"redis://:secret@127.0.0.1:{port}/0"
    process.terminate()
    process.wait()


@pytest.fixture(params=["folder", "redis"])
def broker(request) -> str:
    return request.getfixturevalue("redis_url") if request.param == "redis" else "filesystem://localhost"


def test_a_worker_walks_the_ledger_when_it_starts(transactional_db, broker, tmp_path):
    make_small_study()
    worker = start_python(*WORKER, BROKER_URL=broker, DATA_DIR=str(tmp_path / "data"), C_FORCE_ROOT="1")
    try:
        while not LedgerCheck.objects.exists():
            assert worker.poll() is None, worker.communicate()
            time.sleep(0.2)
    finally:
        worker.terminate()
        _, errors = worker.communicate(timeout=120)
    check = LedgerCheck.objects.get()
    assert (check.streams, check.links, check.passed) == (1, 10, True)
    assert "Traceback" not in errors
