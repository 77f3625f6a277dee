"""Many attempts at once: all of them or none, whoever else is sending the same at that moment."""

from __future__ import annotations

import json
import threading

import pytest
from django.db import connection, connections
from django.test import Client

from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.ledger.verify import verify_streams
from studies.models import Attempt, SeedSlot
from tests.api.conftest import key_for
from tests.api.logs import COMPLETED, SAMPLES
from tests.factories import make_small_study

BATCH = "studies/demo/attempts/batch/"


def attempts_for(study, count=6):
    slots = SeedSlot.objects.filter(study=study)
    return [
        {
            "invocation_id": f"run-{index}",
            "slot": slots[index % 6].experiment_id,
            "exit_code": 0,
            "log": COMPLETED,
            "samples": SAMPLES,
        }
        for index in range(count)
    ]


def test_all_are_recorded_and_the_same_again_is_no_news(study, uploader):
    rows = attempts_for(study)
    first, again = uploader.post(BATCH, {"attempts": rows}), uploader.post(BATCH, {"attempts": rows[::-1]})
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["recorded"], again.json()["unchanged"]) == (6, 6)
    assert [row["invocation_id"] for row in again.json()["attempts"]] == [
        f"run-{i}" for i in range(5, -1, -1)
    ]
    assert Attempt.objects.count() == 6


def test_a_batch_may_hold_known_and_new_attempts(study, uploader):
    rows = attempts_for(study)
    uploader.post(BATCH, {"attempts": rows[:2]})
    answer = uploader.post(BATCH, {"attempts": rows})
    assert answer.status_code == 201
    assert [row["status"] for row in answer.json()["attempts"]] == ["unchanged"] * 2 + ["recorded"] * 4


def test_one_bad_row_stops_the_batch_and_is_named_by_its_line(study, uploader):
    rows = attempts_for(study)
    rows[3]["exit_code"] = "many"
    rows[5]["colour"] = "blue"
    answer = uploader.post(BATCH, {"attempts": rows})
    assert answer.status_code == 400
    fields = {item["field"]: item for item in answer.json()["error"]["fields"]}
    assert set(fields) == {"attempts[3].exit_code", "attempts[5].colour"}
    assert fields["attempts[3].exit_code"]["value"] == "many"
    assert Attempt.objects.count() == 0


def test_other_content_for_one_invocation_stops_the_batch_and_is_named(study, uploader):
    rows = attempts_for(study)
    uploader.post(BATCH, {"attempts": rows[4:5]})
    rows[4]["exit_code"] = 1
    answer = uploader.post(BATCH, {"attempts": rows})
    assert answer.status_code == 409
    assert [item["field"] for item in answer.json()["error"]["fields"]] == ["attempts[4].invocation_id"]
    assert Attempt.objects.count() == 1


def test_the_same_row_twice_in_a_batch_is_recorded_once(study, uploader):
    rows = attempts_for(study)
    assert uploader.post(BATCH, {"attempts": [*rows, rows[0]]}).status_code == 201
    assert Attempt.objects.count() == 6
    different = {**rows[1], "exit_code": 1, "invocation_id": "run-x"}
    refused = uploader.post(BATCH, {"attempts": [different, {**different, "exit_code": 2}]})
    assert refused.status_code == 400
    assert refused.json()["error"]["fields"][0]["field"] == "attempts[1].invocation_id"


def test_files_of_several_jobs_are_refused_with_the_attempts_line(study, uploader):
    import hashlib

    files = []
    for job in ("1", "2"):
        data = f"job {job}".encode()
        sha256 = hashlib.sha256(data).hexdigest()
        uploader.put(f"studies/demo/evidence/{sha256}/", data)
        files.append({"name": f"training-{job}.log", "sha256": sha256})
    rows = attempts_for(study, 2)
    rows[1]["files"] = files
    answer = uploader.post(BATCH, {"attempts": rows})
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] == "attempts[1].jobs"
    assert Attempt.objects.count() == 0


def test_too_many_rows_are_refused_before_they_are_read(study, uploader, settings):
    settings.API_MAX_BATCH = 3
    answer = uploader.post(BATCH, {"attempts": attempts_for(study, 4)})
    assert answer.status_code == 400
    assert "at most 3" in answer.json()["error"]["message"]


@pytest.mark.django_db(transaction=True)
def test_eight_clients_send_the_same_batches_at_once():
    study = make_small_study(slug="demo")
    api = key_for("read", "attempts")
    rows = attempts_for(study, 24)
    answers: list[int] = []

    def send(shift: int) -> None:
        client = Client()
        try:
            for start in range(0, 24, 6):
                part = (rows[shift:] + rows[:shift])[start : start + 6]
                answer = client.post(
                    f"/api/v1/{BATCH}", json.dumps({"attempts": part}), content_type="application/json",
                    headers=api.headers,
                )  # fmt: skip
                answers.append(answer.status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send, args=(shift * 3,)) for shift in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {200, 201}
    assert len(answers) == 32
    assert Attempt.objects.count() == 24
    assert LedgerEntry.objects.filter(record_type="studies.attempt").count() == 24
    assert all(report.ok for report in verify_streams())
    assert connection.vendor in ("sqlite", "postgresql")
