"""Bodies, tags, ranges and methods, as HTTP and JSON mean them."""

from __future__ import annotations

import hashlib
import json

import pytest
from django.test import Client

from rlvram_site.api.ranges import wanted_range
from studies.models import Attempt

ATTEMPTS = "studies/demo/attempts/"
BYTES = bytes(range(256)) * 10
EVIDENCE = f"studies/demo/evidence/{hashlib.sha256(BYTES).hexdigest()}/"


@pytest.fixture
def stored(uploader):
    assert uploader.put(EVIDENCE, BYTES).status_code == 201
    return uploader


def test_json_up_to_the_documented_limit_is_read(study, uploader, settings):
    sent = {"invocation_id": "run-1", "exit_code": 1}
    room = settings.API_MAX_JSON_BYTES - len(json.dumps(sent))
    assert room > 15 * 1024 * 1024
    assert uploader.post(ATTEMPTS, json.dumps(sent).encode() + b" " * room).status_code == 201
    over = json.dumps(sent).encode() + b" " * (room + 1)
    answer = uploader.post(ATTEMPTS, over)
    assert (answer.status_code, str(settings.API_MAX_JSON_BYTES) in answer.content.decode()) == (413, True)


@pytest.mark.parametrize(
    "body",
    ['{"invocation_id": "a", "exit_code": 1, "exit_code": 0}',
     '{"invocation_id": "a", "facts": {"x": 1, "x": 2}}',
     '{"invocation_id": "a", "elapsed_seconds": NaN}'],
)  # fmt: skip
def test_a_key_that_stands_twice_is_refused(study, uploader, body):
    answer = uploader.post(ATTEMPTS, body.encode())
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parse_error")
    assert uploader.form(ATTEMPTS, {"attempt": body}).status_code == 400
    assert not Attempt.objects.exists()


def test_a_form_field_that_stands_twice_is_refused(study, uploader):
    for fields in ({"invocation_id": ["a", "b"]}, {"attempt": ['{"invocation_id": "a"}'] * 2}):
        answer = uploader.form(ATTEMPTS, fields)
        assert answer.status_code == 400, answer.content
        assert "stands in the form 2 times" in answer.content.decode()


def test_a_body_in_chunks_without_a_length_is_answered_411(uploader):
    answer = uploader.client.generic(
        "POST", f"/api/v1/{ATTEMPTS}", b"", content_type="application/json", HTTP_TRANSFER_ENCODING="chunked",
        headers=uploader.headers,
    )  # fmt: skip
    assert (answer.status_code, answer.json()["error"]["code"]) == (411, "length_required")


def test_options_names_the_methods(study, uploader):
    answer = uploader.client.options(f"/api/v1/{ATTEMPTS}", headers=uploader.headers)
    assert answer.status_code == 200
    assert {"GET", "POST"} <= {name.strip() for name in answer["Allow"].split(",")}
    assert set(answer.json()["allow"]) >= {"GET", "POST"}
    assert Client().options("/api/v1/").status_code == 200


def test_evidence_has_a_tag_and_is_not_sent_twice(stored):
    answer = stored.get(EVIDENCE)
    tag = answer["ETag"]
    assert b"".join(answer) == BYTES
    for sent in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        unchanged = stored.get(EVIDENCE, **{"If-None-Match": sent})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert stored.get(EVIDENCE, **{"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-0", 206, slice(0, 1)), ("bytes=10-19", 206, slice(10, 20)),
        ("bytes=2550-", 206, slice(2550, None)),
        ("bytes=-10", 206, slice(-10, None)), ("bytes=0-999999", 206, slice(None)),
        ("bytes=9-1", 200, slice(None)),
        ("bytes=0-1,4-5", 200, slice(None)), ("lines=1-2", 200, slice(None)), ("bytes=2560-", 416, slice(0)),
        ("bytes=-0", 416, slice(0)),
    ],
)  # fmt: skip
def test_a_part_of_evidence(stored, asked, status, part):
    answer = stored.get(EVIDENCE, Range=asked)
    found = b"".join(answer) if answer.streaming else answer.content
    assert (answer.status_code, found) == (status, BYTES[part])
    if status == 206:
        start, stop, _ = part.indices(len(BYTES))
        assert answer["Content-Range"] == f"bytes {start}-{stop - 1}/{len(BYTES)}"
        assert int(answer["Content-Length"]) == stop - start
    if status == 416:
        assert answer["Content-Range"] == f"bytes */{len(BYTES)}"
    assert stored.get(EVIDENCE, Range=asked, **{"If-Range": '"other"'}).status_code == 200


def test_a_put_that_wants_a_new_record_only_is_refused_where_there_is_one(study, uploader):
    new = {"If-None-Match": "*"}
    assert uploader.put(EVIDENCE, BYTES, **new).status_code == 201
    again = uploader.put(EVIDENCE, BYTES, **new)
    assert (again.status_code, again.json()["error"]["code"]) == (412, "precondition_failed")
    assert uploader.put(EVIDENCE, BYTES).status_code == 200


def test_ranges_end_where_the_file_does():
    assert wanted_range("bytes=5-100", 10) == range(5, 10)
    assert wanted_range("bytes=-100", 10) == range(0, 10)
    assert wanted_range("", 10) is None
