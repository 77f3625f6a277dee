"""The suite through the API."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from studies.models import TransferSubmission
from studies.transfer.inputs import inputs_document
from studies.transfer.predictors import reference
from tests.api.conftest import Api, anonymous, key_for  # noqa: F401 - a fixture
from tests.transfer.test_scores import PUBLISHED, TOGETHER, counts

BASE = "transfer/rlvrambench/"
TRACK = "horizon_transfer"


@pytest.fixture
def uploader(pool) -> Api:
    return key_for("read", "evaluations")


@pytest.fixture
def body(suite):
    rows = [{"query_id": query, "predicted_state": label} for query, label in reference(suite, TRACK).items()]
    return {"track": TRACK, "predictions": rows, "name": "copy", "version": "1", "declaration": "none"}


def scoring(body: dict) -> dict:
    return {name: body[name] for name in ("track", "predictions")}


def test_a_suite_in_numbers_with_its_reference(uploader):
    (found,) = uploader.get("transfer/").json()
    assert found == uploader.get(BASE).json()
    assert (found["queries"], len(found["tasks"]), found["configurations"]) == (400, 52, 98)
    assert counts(found["reference"]["overall"]) == TOGETHER
    assert {track: counts(s) for track, s in found["reference"]["per_track"].items()} == PUBLISHED


def test_the_apis_front_page_leads_to_the_suite(uploader):
    assert uploader.get("").json()["transfer"] == "/api/v1/transfer/"


def test_inputs_of_a_track_and_of_a_task(uploader, suite):
    document = uploader.get(f"{BASE}inputs/?track={TRACK}").json()
    assert document == inputs_document(suite, TRACK)
    task = document["tasks"][0]
    assert uploader.get(f"{BASE}tasks/{task['task_id']}/inputs/").json()["tasks"] == [task]


@pytest.mark.parametrize(
    ("path", "status"),
    [("inputs/", 400), ("inputs/?track=x", 400), ("tasks/x/inputs/", 404), ("submissions/", 400),
     ("submissions/?track=all", 400), (f"submissions/{'0' * 64}/", 404)],
)  # fmt: skip
def test_what_does_not_exist(path, status, uploader):
    answer = uploader.get(BASE + path)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_a_pool_without_a_suite(uploader):
    assert uploader.get("transfer/nothing/").status_code == 404


def test_unchanged_inputs_are_not_sent_again(uploader):
    tag = uploader.get(f"{BASE}inputs/?track=all")["ETag"]
    assert uploader.get(f"{BASE}inputs/?track=all", **{"If-None-Match": tag}).status_code == 304


def test_whoever_may_read_gets_scores_and_nothing_is_recorded(body, pool):
    answer = key_for("read").post(f"{BASE}score/", scoring(body))
    assert counts(answer.json()["overall"]) == PUBLISHED[TRACK]
    assert not TransferSubmission.objects.exists()


def test_a_key_to_read_cannot_record(body, pool):
    assert key_for("read").post(f"{BASE}submissions/", body).status_code == 403


def test_nobody_cannot_record(body, pool, anonymous):  # noqa: F811
    assert anonymous.post(f"{BASE}submissions/", body).status_code == 401


def test_recording_once_again_and_with_other_content(uploader, body):
    first = uploader.post(f"{BASE}submissions/", body)
    assert first.status_code == 201
    again = uploader.post(f"{BASE}submissions/", body)
    assert (again.status_code, again.json()) == (200, first.json())
    other = uploader.post(f"{BASE}submissions/", {**body, "declaration": "everything"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    row = TransferSubmission.objects.get()
    assert row.author.startswith("key ")
    assert uploader.get(f"{BASE}submissions/{row.content_sha256}/").json() == first.json()


def test_a_csv_file_in_a_form(uploader, copied):
    fields = {"track": TRACK, "name": "copy", "version": "1", "declaration": "none"}
    file = SimpleUploadedFile("predictions.csv", copied(TRACK))
    answer = uploader.form(f"{BASE}submissions/", {**fields, "file": file})
    assert answer.status_code == 201
    assert counts(answer.json()["scores"]["overall"]) == PUBLISHED[TRACK]


def test_submissions_of_a_track_as_json_and_csv(uploader, body):
    uploader.post(f"{BASE}submissions/", body)
    (row,) = uploader.get(f"{BASE}submissions/?track={TRACK}").json()["results"]
    assert (row["name"], row["track"], counts(row)) == ("copy", TRACK, PUBLISHED[TRACK])
    table = b"".join(uploader.get(f"{BASE}submissions/?track={TRACK}&format=csv").streaming_content)
    assert table.decode().splitlines()[1].startswith(f"{row['id']},{row['content_sha256']},copy,1,")


def test_every_broken_rule_is_named(uploader, body):
    body["predictions"] = [{"query_id": "query-x\ud800", "predicted_state": "maybe"}]
    answer = uploader.post(f"{BASE}submissions/", body)
    assert answer.status_code == 400
    messages = [field["message"].split(":")[0] for field in answer.json()["error"]["fields"]]
    assert messages == ["missing", "unexpected", "invalid state"]
    assert not TransferSubmission.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"track": "x"}, {"predictions": "x"}, {"predictions": None}, {"predictions": [1]}, {"name": ""},
     {"name": "x" * 101}, {"declaration": "\ud800"}, {"version": "a\nb"}, {"extra": 1}],
)  # fmt: skip
def test_a_body_that_is_not_understood(change, uploader, body):
    answer = uploader.post(f"{BASE}submissions/", {**body, **change})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert not TransferSubmission.objects.exists()


def test_both_predictions_and_a_file_or_neither(uploader, body):
    assert uploader.post(f"{BASE}score/", {"track": TRACK}).status_code == 400
