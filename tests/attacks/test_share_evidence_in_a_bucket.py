"""Evidence in a bucket that speaks S3, on a server of its own: as in a folder, and what a network adds."""

from __future__ import annotations

import datetime as dt
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO

import boto3
import pytest
import requests
from django.core.files.storage import storages
from django.core.management import CommandError, call_command

from studies.models import Attempt, StoredFile
from studies.services.outcomes import evidence_store
from studies.services.outcomes.evidence_leftovers import collect
from tests.attacks.conftest import attempt, put, sha256_of
from tests.pages.reading import figure_of, text_of
from tests.upload.site import free_port

SAMPLES = b"".join(
    b"%d,%d\n" % (1_700_000_000_000_000_000 + row * 100_000_000, 1000 + row) for row in range(50)
)
ADDRESS = f"studies/demo/evidence/{sha256_of(SAMPLES)}/"
KEYS = {"AWS_ACCESS_KEY_ID": "of-the-test", "AWS_SECRET_ACCESS_KEY": "of-the-test-too"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of moto's S3, a process of its own on the loopback address."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **KEYS},
    )  # fmt: skip
    for _ in range(300):
        try:
            requests.get(f"http://127.0.0.1:{port}/", timeout=5)
            break
        except requests.RequestException:
            assert process.poll() is None, "moto's server ended"
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


@pytest.fixture
def bucket(server, settings, monkeypatch, tmp_path):
    """An empty bucket, and the site's evidence below a prefix of it."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    name = f"evidence-{time.time_ns()}"
    made = boto3.resource("s3", endpoint_url=server, region_name="us-east-1").create_bucket(Bucket=name)
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "incoming")
    settings.STORAGES = settings.STORAGES | {"evidence": options_of(monkeypatch, name, server)}
    return made


def options_of(monkeypatch, name: str, server: str) -> dict:
    """What the setting makes of its address."""
    from rlvram_site import settings as read

    monkeypatch.setenv("EVIDENCE_STORAGE_URL", f"s3://{name}/our/studies?endpoint={server}&region=us-east-1")
    return read._evidence_storage()


@pytest.fixture
def recorded(bucket, study, uploader) -> str:
    """An attempt whose samples were uploaded; returns the key of their object."""
    assert put(uploader, SAMPLES).status_code == 201
    answer = attempt(uploader, "run-1", ("gpu-memory-1.csv", SAMPLES))
    assert answer.status_code == 201, answer.content
    return f"our/studies/{evidence_store.name_of(sha256_of(SAMPLES))}"


def keys(bucket) -> list[str]:
    return [item.key for item in bucket.objects.all()]


def test_an_upload_lies_in_the_bucket_and_nothing_stays_on_this_machine(bucket, recorded, tmp_path):
    assert keys(bucket) == [recorded]
    assert bucket.Object(recorded).content_encoding in (None, "")  # nobody on the way may unpack it
    assert list((tmp_path / "incoming").iterdir()) == []
    assert Attempt.objects.get().observed_peak_mib == 1049


def test_it_comes_back_whole_and_in_parts(recorded, uploader):
    assert b"".join(uploader.get(ADDRESS).streaming_content) == SAMPLES
    part = uploader.get(ADDRESS, Range="bytes=10-29")
    assert (part.status_code, b"".join(part.streaming_content)) == (206, SAMPLES[10:30])
    assert part["Content-Range"] == f"bytes 10-29/{len(SAMPLES)}"


def test_the_page_draws_it_and_says_that_it_is_here(recorded, study, uploader, client):
    slot = study.seedslots.order_by("pk").first().experiment_id
    body = {"invocation_id": "run-2", "slot": slot, "exit_code": 1,
            "files": [{"name": "gpu-memory-2.csv", "sha256": sha256_of(SAMPLES)}]}  # fmt: skip
    assert uploader.post("studies/demo/attempts/", body).status_code == 201
    page = client.get("/studies/demo/attempts/run-2/")
    (line,) = [trace for trace in figure_of(page, "memory")["data"] if trace["type"] == "scatter"]
    assert max(line["y"]) == 1049
    assert "here, as sent" in text_of(page)


@pytest.mark.parametrize(("harm", "word"), [("other", "damaged"), ("gone", "missing")])
def test_verification_finds_what_somebody_changed_in_the_bucket(
    bucket, recorded, uploader, client, harm, word
):
    if harm == "other":
        bucket.Object(recorded).put(Body=b"not what was sent")
    else:
        bucket.Object(recorded).delete()
    with pytest.raises(CommandError, match=f"1 {word}"):
        call_command("verify_ledger", "--evidence", stdout=StringIO())
    assert uploader.get(ADDRESS).json()["error"]["code"] == f"evidence_{word}"
    assert f"evidence {word}" in text_of(client.get("/studies/demo/attempts/run-1/"))
    assert put(uploader, SAMPLES).status_code == 200
    assert b"".join(uploader.get(ADDRESS).streaming_content) == SAMPLES


def test_leftovers_in_the_bucket_are_removed_and_other_objects_are_not(bucket, recorded, uploader):
    bucket.Object("our/studies/readme.txt").put(Body=b"not ours")
    bucket.Object("elsewhere/ab/" + "0" * 64 + ".gz").put(Body=b"not ours")
    put(uploader, b"no attempt names it")
    assert list(collect(dt.timedelta(hours=1))) == []
    time.sleep(1.1)  # S3 tells whole seconds
    assert len(list(collect(dt.timedelta(0)))) == 2
    assert sorted(keys(bucket)) == sorted(
        [recorded, "our/studies/readme.txt", "elsewhere/ab/" + "0" * 64 + ".gz"]
    )


def test_many_files_are_listed_page_after_page(bucket, study):
    for number in range(1005):
        bucket.Object(f"our/studies/{number % 256:02x}/{number:064x}.gz").put(Body=b"x")
    assert len(list(evidence_store.stored())) == 1005


def test_a_store_that_does_not_answer_is_a_503_and_is_no_damage(recorded, uploader, client, monkeypatch):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        store = storages["evidence"]
        monkeypatch.setattr(store, "endpoint_url", address)
        monkeypatch.setattr(store, "_bucket", None)
        monkeypatch.setattr(store._connections, "connection", None)
        assert uploader.get(ADDRESS).status_code == 503
        assert put(uploader, b"more").json()["error"]["code"] == "unavailable"
        assert client.get("/studies/demo/attempts/run-1/").status_code == 200
        with pytest.raises(CommandError, match="does not answer"):
            call_command("verify_evidence", stdout=StringIO())
    assert StoredFile.objects.get(sha256=sha256_of(SAMPLES)).state == "whole"
