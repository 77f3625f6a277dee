"""Real servers and workers: several processes count together, workers and the clock are heard of."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import psutil

from operating.models import Heartbeat
from tests.factories import make_small_study
from tests.processes import start_python

TOKEN = "a-long-random-token-of-the-monitor"
REQUESTS = 12
COUNT = "django_http_responses_total_by_status_view_method_total"


def read(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return answer.read().decode()


def wait_for(what: Callable[[], object], process) -> None:
    while not what():
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)


def test_several_processes_count_together_and_a_lost_one_takes_nothing_along(transactional_db, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    server = start_python(
        "-m", "gunicorn", "--config", "python:rlvram_site.server.settings", "--workers", "2",
        "--bind", f"127.0.0.1:{port}", "--log-level", "critical", "--no-control-socket",
        METRICS_TOKEN=TOKEN, DATA_DIR=str(tmp_path / "data"), TMPDIR=str(tmp_path),
    )  # fmt: skip

    def answers() -> bool:
        try:
            return bool(read(f"{base}/health/ready/"))
        except urllib.error.URLError:
            return False

    def counted() -> int:
        body = read(f"{base}/metrics", Authorization=f"Bearer {TOKEN}")
        found = re.search(rf'^{COUNT}\{{[^}}]*view="health-live"\}} (\S+)', body, re.MULTILINE)
        return int(float(found[1])) if found else 0

    try:
        wait_for(answers, server)
        for _ in range(REQUESTS):
            read(f"{base}/health/live/")
        assert {counted() for _ in range(6)} == {REQUESTS}
        first = psutil.Process(server.pid)
        victim = first.children()[0]
        victim.send_signal(signal.SIGKILL)
        wait_for(lambda: len({one.pid for one in first.children()} - {victim.pid}) == 2, server)
        assert counted() == REQUESTS
        assert list(tmp_path.glob("rlvram-metrics-*"))
    finally:
        server.terminate()
        server.communicate()
    assert not list(tmp_path.glob("rlvram-metrics-*"))


def test_a_worker_and_the_clock_are_heard_of_and_their_lines_are_json(transactional_db, tmp_path):
    make_small_study()
    log = tmp_path / "worker.log"
    with log.open("w") as output:
        worker = start_python(
            "-m", "celery", "--app", "rlvram_site", "--quiet", "worker", "--beat", "--schedule",
            str(tmp_path / "schedule"), "--hostname", "one@test", "--concurrency", "1", output=output,
            BROKER_URL="filesystem://localhost", DATA_DIR=str(tmp_path / "data"), C_FORCE_ROOT="1",
            LOG_FORMAT="json", LOG_LEVEL="INFO", JOB_TAKE_BACK_SECONDS="1",
        )  # fmt: skip
        try:
            wait_for(lambda: Heartbeat.objects.filter(name="worker one@test").exists(), worker)
            wait_for(lambda: Heartbeat.objects.filter(kind="beat").exists(), worker)
            wait_for(lambda: '"job_id": "ledger.check_when_due"' in log.read_text(), worker)
        finally:
            os.kill(worker.pid, signal.SIGTERM)
            worker.communicate()
    assert not Heartbeat.objects.filter(kind="worker").exists()
    said = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert {"time", "level", "logger", "message"} <= set(said[0])
    assert "Traceback" not in log.read_text()
