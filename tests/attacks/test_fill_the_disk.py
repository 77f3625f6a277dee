"""The disk fills up, slowly or at once, and is freed again: uploads wait, nothing is half there or ends.

A disk that is nearly full is the real one, with a reserve that is larger. One that is full is a limit on what
real, running processes may write (``RLIMIT_FSIZE``), which is lifted again.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import time
from pathlib import Path

import psutil
import pytest
import requests
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError

from rlvram_site.disk import is_full
from rlvram_site.ledger.models import LedgerCheck
from studies.models import Attempt, PendingEvidence
from tests.attacks.conftest import attempt, put, sha256_of
from tests.factories import make_small_study
from tests.processes import start_python
from tests.upload.conftest import command, key, run_directory
from tests.upload.site import Site

__all__ = ["key", "run_directory"]

EVERYTHING_MIB = str(1 << 40)
WORKER = ["-m", "celery", "--app", "rlvram_site", "--quiet", "worker", "--beat", "--concurrency", "1"]


@pytest.fixture
def short(settings):
    settings.DISK_RESERVE_BYTES = 1 << 60


def test_uploads_are_refused_early_in_the_documented_shape_and_reading_goes_on(short, store, uploader):
    answers = [
        put(uploader, b"evidence"), attempt(uploader, "run-1"),
        uploader.post("studies/demo/attempts/batch/", b"this body is not even read as JSON"),
        uploader.form("studies/demo/attempts/", {"files": SimpleUploadedFile("a.log", b"x")}),
    ]  # fmt: skip
    for answer in answers:
        assert (answer.status_code, answer["Retry-After"]) == (507, "60")
        error = answer.json()["error"]
        assert (error["code"], error["fields"]) == ("no_space", [])
        assert "Send the request again later" in error["message"]
    assert not store.exists()
    assert uploader.get("studies/demo/attempts/").status_code == 200


def test_hosts_may_still_report_what_runs(short, uploader):
    assert uploader.post("jobs/1/cancel/", {}).status_code != 507
    assert uploader.post("hosts/a/jobs/1/beat/", {}).status_code != 507


def test_a_form_with_a_file_gets_a_page_that_says_so(short, db, client):
    answer = client.post("/transfer/any/submit/", {"file": SimpleUploadedFile("a.csv", b"x")})
    assert answer.status_code == 507
    assert "There is no room for a file" in answer.content.decode()
    plain = {"content_type": "application/x-www-form-urlencoded"}
    assert client.post("/login/", "username=a&password=b", **plain).status_code == 200


def test_health_says_that_it_is_the_disk_and_not_which_folder(short, db, client, settings):
    answer = client.get("/health/ready/")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "disk": "nearly full: uploads are refused"}
    assert client.get("/health/live/").status_code == 200
    settings.DISK_RESERVE_BYTES = 0
    assert client.get("/health/ready/").status_code == 200


def test_a_full_database_is_told_from_one_that_is_silent():
    class PostgresFull(Exception):
        sqlstate = "53100"

    def wrapped(cause: Exception) -> OperationalError:
        try:
            raise OperationalError("could not extend file") from cause
        except OperationalError as error:
            return error

    assert is_full(wrapped(PostgresFull()))
    assert not is_full(wrapped(ConnectionError()))


@pytest.fixture
def site(transactional_db, tmp_path):
    """A served site of its own, whose processes can be given a full disk."""
    make_small_study(slug="demo")
    site = Site(DATA_DIR=str(tmp_path / "data"))
    site.start()
    yield site
    site.stop()


def limit_writing(process: subprocess.Popen, size_bytes: int) -> None:
    """From now on none of its processes can write a file beyond this size."""
    main = psutil.Process(process.pid)
    for item in [main, *main.children(recursive=True)]:
        resource.prlimit(item.pid, resource.RLIMIT_FSIZE, (size_bytes, resource.RLIM_INFINITY))


def test_a_disk_that_fills_during_an_upload_leaves_nothing_and_takes_it_later(site, key, tmp_path):
    content = os.urandom(8 << 20)
    address = f"{site.url}/api/v1/studies/demo/evidence/{sha256_of(content)}/"
    headers = {"Authorization": f"Api-Key {key}", "Content-Type": "application/octet-stream"}
    limit_writing(site.process, 4 << 20)
    refused = requests.put(address, content, headers=headers, timeout=120)
    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "no_space")
    form = requests.post(
        f"{site.url}/api/v1/studies/demo/attempts/", {"invocation_id": "run-1"},
        files={"files": ("a.log", content)}, headers={"Authorization": headers["Authorization"]}, timeout=120,
    )  # fmt: skip
    assert (form.status_code, form.json()["error"]["code"]) == (507, "no_space")
    # What a form left under incoming/ goes with its request, or is collected.
    assert [path for path in (tmp_path / "data" / "files").rglob("*") if path.is_file()] == []
    assert (PendingEvidence.objects.count(), Attempt.objects.count()) == (0, 0)
    limit_writing(site.process, resource.RLIM_INFINITY)
    assert requests.put(address, content, headers=headers, timeout=120).status_code == 201
    assert requests.get(address, headers=headers, timeout=120).content == content


def test_the_uploader_takes_it_as_try_again_later(transactional_db, tmp_path, run_directory):
    make_small_study(slug="demo")
    full = Site(DATA_DIR=str(tmp_path / "data"), DISK_RESERVE_MIB=EVERYTHING_MIB)
    full.start()
    try:
        from rlvram_site.api.keys import issue_key
        from tests.api.conftest import make_person

        owner = make_person("ci", is_staff=True)
        secret = issue_key(name="ci", owner=owner, scopes=["read", "attempts"])[1]
        done = command(full.url, secret, run_directory, "--invocation", "run-1", "--retries", "0")
    finally:
        full.stop()
    assert done.returncode == 3  # not reached, which is not the same as refused
    assert "507 no_space" in done.stderr
    assert Attempt.objects.count() == 0


def planted(folder: Path) -> None:
    """What a full disk and a kill left in the broker's folder before this version wrote whole files."""
    messages, control = folder / "broker" / "messages", folder / "broker" / "control"
    for path in (messages, control):
        path.mkdir(parents=True)
    whole = json.dumps({"body": "e30=", "headers": {}, "properties": {"delivery_tag": "1"}})
    for number, text in enumerate(["", "{", whole[: len(whole) // 2], "[]", "null", "\x00" * 300]):
        (messages / f"{number}_half.default.msg").write_text(text)
    (messages / "0_bytes.numerics.msg").write_bytes(b"\xff\xfe\x00")
    for name in ("default", "numerics", "celeryev"):
        (control / f"{name}.exchange").write_text('[["default", "", "def')


def test_a_worker_starts_over_halves_and_puts_them_aside(transactional_db, tmp_path):
    make_small_study()
    data = tmp_path / "data"
    planted(data)
    worker = start_python(*WORKER, BROKER_URL="filesystem://localhost", DATA_DIR=str(data), C_FORCE_ROOT="1")
    try:
        while not LedgerCheck.objects.exists():
            assert worker.poll() is None, worker.communicate()
            time.sleep(0.2)
        while len(aside := sorted(path.name for path in (data / "broker" / "damaged").iterdir())) < 7:
            assert worker.poll() is None, worker.communicate()
            time.sleep(0.2)
    finally:
        worker.terminate()
        _, errors = worker.communicate(timeout=120)
    assert aside == ["0_bytes.numerics.msg", *(f"{number}_half.default.msg" for number in range(6))]
    assert "is no whole message and is put aside" in errors


def send(data: Path) -> subprocess.CompletedProcess[str]:
    """Ask for a walk over the ledger, as another process of the site."""
    process = start_python(
        "-c", "from rlvram_site.celery import app; app.send_task('ledger.check_when_due')",
        BROKER_URL="filesystem://localhost", DATA_DIR=str(data),
    )  # fmt: skip
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess([], process.returncode, out, err)


def test_a_worker_survives_a_full_disk_and_works_on_when_it_is_freed(transactional_db, tmp_path):
    make_small_study()
    data = tmp_path / "data"
    worker = start_python(*WORKER, BROKER_URL="filesystem://localhost", DATA_DIR=str(data), C_FORCE_ROOT="1")
    try:
        while not LedgerCheck.objects.exists():
            assert worker.poll() is None, worker.communicate()
            time.sleep(0.2)
        limit_writing(worker, 0)
        LedgerCheck.objects.all().delete()
        assert send(data).returncode == 0
        messages = data / "broker" / "messages"
        while list(messages.glob("*.default.msg")):  # taken, and whatever came of it
            assert worker.poll() is None, worker.communicate()
            time.sleep(0.2)
        limit_writing(worker, resource.RLIM_INFINITY)
        while not LedgerCheck.objects.exists():
            assert worker.poll() is None, worker.communicate()
            assert send(data).returncode == 0
            time.sleep(1)
    finally:
        worker.terminate()
        worker.communicate(timeout=120)
    assert list(messages.glob("*.part")) == []


def test_a_full_disk_is_for_a_worker_that_starts_a_broker_that_is_not_there_yet(tmp_path):
    """It tries again at such errors; at others it ends, and once took the pages along."""
    process = start_python(
        "-c",
        "import resource\n"
        "from rlvram_site.celery import app\n"
        "connection = app.connection_for_read()\n"
        "channel = connection.channel()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    app.amqp.queues['default'](channel).declare()\n"
        "except connection.connection_errors as error:\n"
        "    print('again:', error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "print('then:', app.amqp.queues['default'](channel).declare())\n",
        BROKER_URL="filesystem://localhost", DATA_DIR=str(tmp_path), DATABASE_URL="sqlite:////nowhere.sqlite3",
    )  # fmt: skip
    out, err = process.communicate(timeout=120)
    assert "again: default.exchange can't be changed" in out, err
    assert "then: default" in out, err


def test_a_message_that_finds_no_room_is_not_there_and_its_sender_is_told(tmp_path):
    data = tmp_path / "data"
    process = start_python(
        "-c",
        "import resource\n"
        "from kombu.exceptions import KombuError\n"
        "from rlvram_site.celery import app\n"
        "app.send_task('ledger.check_when_due')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    app.send_task('ledger.check_when_due', retry=False)\n"
        "except KombuError as error:\n"
        "    print('told:', error)\n",
        BROKER_URL="filesystem://localhost", DATA_DIR=str(data), DATABASE_URL="sqlite:////nowhere.sqlite3",
    )  # fmt: skip
    out, err = process.communicate(timeout=120)
    assert "told: the message can't be kept" in out, err
    (message,) = (data / "broker" / "messages").iterdir()
    assert json.loads(message.read_text())["headers"]["task"] == "ledger.check_when_due"
