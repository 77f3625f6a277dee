"""Whatever is sent: a clear error that names the field, and nothing half recorded."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Attempt
from tests.api.conftest import key_for

ATTEMPTS = "studies/demo/attempts/"


def sent(**fields):
    return {"invocation_id": "run-1", "exit_code": 1, **fields}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"invocation_id": "../x"}, "invocation_id"),
        ({"invocation_id": "a b"}, "invocation_id"),
        ({"invocation_id": None}, "invocation_id"),
        ({"exit_code": "one"}, "exit_code"),
        ({"exit_code": 10**30}, "exit_code"),
        ({"signal": 0}, "signal"),
        ({"started_at": "2026-09-15T10:00:00"}, "started_at"),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, "started_at"),
        ({"started_at": "2026-09-15T10:00:00Z", "ended_at": "2026-09-15T09:00:00Z"}, "ended_at"),
        ({"device_peaks_mib": {"GPU-0": "nan"}}, "device_peaks_mib.GPU-0"),
        ({"device_peaks_mib": {"GPU-0": -1}}, "device_peaks_mib.GPU-0"),
        ({"device_peaks_mib": {"": 1}}, "device_peaks_mib"),
        ({"task_gpu_seconds": "inf"}, "task_gpu_seconds"),
        ({"log": "a\x00b"}, "log"),
        ({"log": "x" * 300_000}, "log"),
        ({"facts": [1]}, "facts"),
        ({"facts": {"a": "\x00"}}, "facts"),
        ({"facts": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}}}, "facts"),
        ({"facts": {"a": "x" * 70_000}}, "facts"),
        ({"files": [{"name": "../../etc/passwd", "sha256": "0" * 64, "private": True}]}, "files[0].name"),
        ({"files": [{"name": "a.log", "sha256": "xyz", "private": True}]}, "files[0].sha256"),
        ({"files": [{"name": "a.log", "sha256": "0" * 64, "private": True}] * 2}, "files"),
        ({"colour": "blue"}, "colour"),
        ({"job_id": "\ud800"}, "job_id"),
        ({"\ud800": 1}, "?"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_recorded(study, uploader, fields, name):
    links = LedgerEntry.objects.count()
    answer = uploader.post(ATTEMPTS, sent(**fields))
    assert answer.status_code == 400, answer.content
    assert name in {item["field"] for item in answer.json()["error"]["fields"]}
    assert LedgerEntry.objects.count() == links


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ({"outcome": "completed", "source": "x"}, "declared.peak_mib"),
        ({"outcome": "completed", "source": "x", "peak_mib": 0}, "declared.peak_mib"),
        (
            {"outcome": "completed", "source": "x", "peak_mib": 1, "diagnosis": "cuda_oom"},
            "declared.diagnosis",
        ),
        ({"outcome": "memory_failure", "source": "x"}, "declared.diagnosis"),
        ({"outcome": "memory_failure", "source": "x", "diagnosis": "host_memory"}, "declared.diagnosis"),
        (
            {"outcome": "memory_failure", "source": "x", "diagnosis": "cuda_oom", "peak_mib": 9},
            "declared.peak_mib",
        ),
        ({"outcome": "unresolved", "source": "x"}, "declared.reason"),
        ({"outcome": "unresolved", "reason": "x"}, "declared.source"),
        ({"outcome": "success", "source": "x"}, "declared.outcome"),
    ],
)
def test_a_declared_outcome_says_what_a_derived_one_would_have(study, declarer, declared, name):
    answer = declarer.post(ATTEMPTS, {"invocation_id": "run-1", "declared": declared})
    assert answer.status_code == 400, answer.content
    assert [item["field"] for item in answer.json()["error"]["fields"]] == [name]


def test_an_outcome_is_declared_or_derived_and_never_both(study, declarer):
    declared = {"outcome": "completed", "peak_mib": 30000, "source": "the operator"}
    answer = declarer.post(ATTEMPTS, sent(declared=declared, log="step:1"))
    assert answer.json()["error"]["fields"][0]["field"] == "log"
    form = {"attempt": json.dumps(sent(declared=declared)), "log": SimpleUploadedFile("a.log", b"x")}
    assert declarer.form(ATTEMPTS, form).json()["error"]["fields"][0]["field"] == "files"
    assert Attempt.objects.count() == 0


def test_a_declared_outcome_stays_marked(study, declarer):
    declared = {"outcome": "completed", "peak_mib": 30000, "source": "the operator's notes"}
    body = declarer.post(ATTEMPTS, {"invocation_id": "run-1", "declared": declared}).json()
    assert (body["origin"], body["source"], body["peak_mib"]) == ("declared", "the operator's notes", 30000)
    assert [row["origin"] for row in declarer.get(f"{ATTEMPTS}?origin=declared").json()["results"]] == [
        "declared"
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"invocation_id": "a", "exit_code": 0, "exit_code": 1}',
        b'{"invocation_id": "a", "exit_code": ' + b"1" * 5000 + b"}",
        b"[" * 100_000,
        b'{"invocation_id": "a", "exit_code": 1e999}',
        b"[]",
        b"1",
    ],
)
def test_a_body_that_is_no_record_is_refused(study, uploader, body):
    answer = uploader.post(ATTEMPTS, body)
    assert answer.status_code == 400, answer.content
    assert set(answer.json()["error"]) == {"code", "message", "fields"}


def test_a_body_of_another_type_is_refused(study, uploader):
    answer = uploader.client.post(
        f"/api/v1/{ATTEMPTS}", b"<a/>", content_type="application/xml", headers=uploader.headers
    )
    assert answer.status_code == 415


def test_a_packed_body_is_read_and_a_bomb_is_not(study, uploader, settings):
    packed = gzip.compress(json.dumps(sent()).encode())
    assert uploader.post(ATTEMPTS, packed, **{"Content-Encoding": "gzip"}).status_code == 201
    settings.API_MAX_JSON_BYTES = 100_000
    bomb = gzip.compress(b'{"invocation_id": "' + b"x" * 50_000_000 + b'"}')
    assert len(bomb) < 100_000
    assert uploader.post(ATTEMPTS, bomb, **{"Content-Encoding": "gzip"}).status_code == 413
    assert uploader.post(ATTEMPTS, packed[:-9], **{"Content-Encoding": "gzip"}).status_code == 400
    assert uploader.post(ATTEMPTS, packed, **{"Content-Encoding": "br"}).status_code == 400
    assert uploader.post(ATTEMPTS, b" " * 100_001).status_code == 413


def test_files_over_their_limit_are_refused_and_leave_nothing(study, uploader, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    settings.EVIDENCE_MAX_FILE_BYTES = 1000
    settings.EVIDENCE_MAX_UNPACKED_BYTES = 5000
    large, bomb = b"x" * 1001, gzip.compress(b"x" * 100_000)
    assert len(bomb) < 1000
    for data in (large, bomb):
        path = f"studies/demo/evidence/{hashlib.sha256(data).hexdigest()}/"
        assert uploader.put(path, data).status_code == 413
        form = {"invocation_id": "run-1", "files": SimpleUploadedFile("gpu-memory-1.csv.gz", data)}
        assert uploader.form(ATTEMPTS, form).status_code == 413
    packed = {"Content-Encoding": "gzip"}
    assert uploader.put(f"studies/demo/evidence/{'0' * 64}/", bomb, **packed).status_code == 413
    assert uploader.put(f"studies/demo/evidence/{'0' * 64}/", b"").status_code == 400
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert Attempt.objects.count() == 0


def test_a_form_over_its_limit_is_refused(study, uploader, settings):
    settings.API_MAX_UPLOAD_BYTES = 100
    form = {"invocation_id": "run-1", "log": SimpleUploadedFile("a.log", b"x" * 200)}
    assert uploader.form(ATTEMPTS, form).status_code == 413


def test_a_form_with_an_unknown_part_or_a_field_twice_is_refused(study, uploader):
    part = uploader.form(ATTEMPTS, {"invocation_id": "run-1", "picture": SimpleUploadedFile("a.png", b"x")})
    assert part.json()["error"]["fields"][0]["field"] == "picture"
    twice = uploader.form(ATTEMPTS, {"attempt": json.dumps(sent()), "invocation_id": "run-2"})
    assert twice.json()["error"]["fields"][0]["field"] == "invocation_id"
    files = [SimpleUploadedFile("a.log", b"x"), SimpleUploadedFile("a.log", b"y")]
    assert uploader.form(ATTEMPTS, {"invocation_id": "run-3", "files": files}).status_code == 400


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("training-1.log", b"\x00\xff\xfe binary \x00" * 50),
        ("training-1.log", zlib.compress(b"not gzip")),
        ("gpu-memory-1.csv.gz", gzip.compress(b"1700000000000000000,5\n", mtime=0)[:-6]),
        ("trial-1.json", b'{"exit_code": ' + b"9" * 60 + b', "failure_kind": "\\ud800"}'),
        ("trial-1.json", b"[" * 100_000),
        ("sacct.txt", b"\x00|\x00|\x00"),
        ("device_map.json", b'{"a": "b"}'),
    ],
)
def test_damaged_evidence_is_kept_and_reported(study, uploader, name, data):
    answer = uploader.form(ATTEMPTS, {"invocation_id": "run-1", "files": SimpleUploadedFile(name, data)})
    assert answer.status_code == 201, answer.content
    assert answer.json()["outcome"] == "unresolved"
    kept = uploader.get(f"{ATTEMPTS}by-id/run-1/files/").json()["results"]
    assert kept[0]["sha256"] == hashlib.sha256(data).hexdigest()


def test_exclusions_are_records_that_supersede_each_other(study, uploader):
    uploader.post(ATTEMPTS, sent())
    staff = key_for("read", "exclusions")
    path = "studies/demo/exclusions/"
    first = staff.post(path, {"attempt": "run-1", "reason": "wrong driver"})
    again = staff.post(path, {"attempt": "run-1", "reason": "wrong driver"})
    other = staff.post(path, {"attempt": "run-1", "reason": "bad day"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    assert staff.get(f"{ATTEMPTS}by-id/run-1/").json()["exclusion"] == "wrong driver"
    lifted = staff.post(path, {"attempt": "run-1", "reason": "the driver was right", "lift": True})
    assert (lifted.status_code, lifted.json()["supersedes"]) == (201, first.json()["id"])
    nothing = staff.post(path, {"attempt": "run-1", "reason": "again", "lift": True})
    assert nothing.status_code == 409
    assert staff.post(path, {"attempt": "nobody", "reason": "x"}).status_code == 400
    assert [row["lifted"] for row in staff.get(path).json()["results"]] == [False, True]
