"""Servers and clients that are killed in the middle: after the retry every attempt is there once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import requests

from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.ledger.verify import unchained, verify_streams
from studies.models import Attempt, EvidenceBlob, PendingEvidence
from tests.api.logs import COMPLETED, SAMPLES

COUNT = 400


def batch(prefix: str) -> dict:
    rows = [
        {"invocation_id": f"{prefix}-{index}", "exit_code": 0, "log": COMPLETED, "samples": SAMPLES}
        for index in range(COUNT)
    ]
    return {"attempts": rows}


def post(site, key, body) -> int:
    """Status of the answer; 0 if the connection broke."""
    try:
        return requests.post(
            f"{site.url}/api/v1/studies/demo/attempts/batch/",
            json=body, headers={"Authorization": f"Api-Key {key}"}, timeout=120,
        ).status_code  # fmt: skip
    except requests.RequestException:
        return 0


def check_ledger(expected: int) -> None:
    assert Attempt.objects.count() == expected
    assert LedgerEntry.objects.filter(record_type="studies.attempt").count() == expected
    assert [report.problem for report in verify_streams() if not report.ok] == []
    assert list(unchained()) == []


def test_a_server_killed_in_the_middle_of_a_batch_keeps_all_of_it_or_nothing(site, key):
    started = time.monotonic()
    assert post(site, key, batch("first")) == 201
    whole = time.monotonic() - started
    # Wherever in the work the kill falls, the rule is the same.
    for number, share in enumerate((0.2, 0.5, 0.7, 0.85, 0.95)):
        body = batch(f"batch{number}")
        client = threading.Thread(target=post, args=(site, key, body))
        client.start()
        time.sleep(whole * share)
        site.kill()
        client.join()
        kept = Attempt.objects.filter(invocation_id__startswith=f"batch{number}-").count()
        assert kept in (0, COUNT)
        site.start()
        assert post(site, key, body) == (200 if kept else 201)
        check_ledger(COUNT * (number + 2))


@pytest.mark.parametrize("shares", [(0.3, 0.6, 0.9)])
def test_a_client_killed_in_the_middle_of_an_upload_goes_on_where_it_ended(site, key, tmp_path, shares):
    folder = tmp_path / "run"
    folder.mkdir()
    for number in range(12):
        # Bytes that do not pack, so that sending them takes a while.
        (folder / f"gpu-{number}.out").write_bytes(os.urandom(1_000_000))
    (folder / "training-7.log").write_text(COMPLETED)
    (folder / "gpu-memory-7.csv").write_text(SAMPLES)
    (folder / "trial-7.json").write_text(json.dumps({"exit_code": 0}))

    def start(invocation: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "host.upload", str(folder), "--url", site.url, "--study", "demo",
             "--invocation", invocation, "--quiet"],
            env={**os.environ, "RLVRAM_KEY": key}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    for share in shares:
        client = start("run-7")
        while client.poll() is None and PendingEvidence.objects.count() < 15 * share:
            time.sleep(0.01)
        client.send_signal(signal.SIGKILL)
        client.communicate()
        sent = PendingEvidence.objects.count() + EvidenceBlob.objects.count()
        assert Attempt.objects.count() in (0, 1)
    assert sent > 0
    last = start("run-7")
    out, err = last.communicate()
    assert last.returncode == 0, err
    assert json.loads(out)["outcome"] == "completed"
    assert (EvidenceBlob.objects.count(), PendingEvidence.objects.count()) == (15, 0)
    assert Attempt.objects.get().files.count() == 15
    check_ledger(1)
