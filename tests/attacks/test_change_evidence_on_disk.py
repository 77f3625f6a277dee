"""Somebody with the disk changes, cuts or deletes evidence: pages, API and checks say so, no record moves."""

from __future__ import annotations

import gzip
import os
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.chain import head
from rlvram_site.ledger.verify import verify_streams
from studies.models import StoredFile
from studies.services.outcomes import evidence_checks, evidence_store
from studies.services.outcomes.evidence_checks import check_what_is_due
from tests.attacks.conftest import attempt, put, sha256_of
from tests.pages.reading import text_of

SAMPLES = b"".join(
    b"%d,%d\n" % (1_700_000_000_000_000_000 + row * 100_000_000, 1000 + row) for row in range(50)
)
LOG = b"a log without any news\n"
ADDRESS = f"studies/demo/evidence/{sha256_of(SAMPLES)}/"
PAGE = "/studies/demo/attempts/run-1/"


def other_bytes(path: Path) -> None:
    path.write_bytes(gzip.compress(SAMPLES.replace(b"1049", b"9999")))


def other_bytes_in_place(path: Path) -> None:
    """Same size and time of change, the same file."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(before.st_size // 2)
        byte = file.read(1)
        file.seek(before.st_size // 2)
        file.write(bytes([byte[0] ^ 255]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def no_gzip(path: Path) -> None:
    path.write_bytes(SAMPLES)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def deleted(path: Path) -> None:
    path.unlink()


def all_deleted(path: Path) -> None:
    shutil.rmtree(path.parent.parent)


DAMAGE = [other_bytes, other_bytes_in_place, no_gzip, cut, emptied, a_folder, link_elsewhere]
LOSS = [deleted, all_deleted]


@pytest.fixture
def recorded(store, study, uploader):
    """An attempt with samples and a log; returns where the samples lie."""
    for content in (SAMPLES, LOG):
        assert put(uploader, content).status_code == 201
    answer = attempt(uploader, "run-1", ("gpu-memory-1.csv", SAMPLES), ("training-1.log", LOG))
    assert answer.status_code == 201, answer.content
    return store / evidence_store.name_of(sha256_of(SAMPLES))


@pytest.mark.parametrize("harm", [*DAMAGE, *LOSS])
def test_it_is_seen_everywhere_and_what_was_recorded_stays(client, uploader, recorded, harm):
    word = "missing" if harm in LOSS else "damaged"
    before, outcome = head("study/demo"), uploader.get("studies/demo/attempts/by-id/run-1/").json()["outcome"]
    assert uploader.get(ADDRESS).status_code == 200
    harm(recorded)
    refused = uploader.get(ADDRESS)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, f"evidence_{word}")
    said = text_of(client.get(PAGE))
    assert f"Evidence {word}: gpu-memory-1.csv can’t be read, so memory over time can’t be drawn" in said
    assert f"evidence {word} :" in said
    detail = uploader.get("studies/demo/attempts/by-id/run-1/").json()
    files = {file["name"]: (file["stored"], file["bytes"]) for file in detail["files"]}
    assert files["gpu-memory-1.csv"] == (False, word)
    assert detail["outcome"] == outcome
    assert head("study/demo") == before
    assert all(report.ok for report in verify_streams())


@pytest.mark.parametrize("harm", [*DAMAGE, *LOSS])
def test_whoever_has_the_bytes_mends_them_by_sending_them_again(uploader, recorded, harm):
    harm(recorded)
    if recorded.is_dir():
        recorded.rmdir()  # what is no file is for the people who run the site to take away
    assert uploader.get(ADDRESS).status_code == 404
    assert put(uploader, SAMPLES).status_code == 200
    assert b"".join(uploader.get(ADDRESS).streaming_content) == SAMPLES
    assert uploader.get("studies/demo/evidence/").json()["damaged"] == 0


def test_an_attempt_that_names_damaged_bytes_is_refused_with_the_field(uploader, recorded):
    cut(recorded)
    answer = attempt(uploader, "run-2", ("gpu-memory-2.csv", SAMPLES))
    (field,) = answer.json()["error"]["fields"]
    assert (answer.status_code, field["field"]) == (400, "files[0].sha256")
    assert field["message"] == "evidence damaged: the bytes with this sha256 must be PUT again"


def test_a_change_without_a_trace_is_found_by_the_check_that_reads_all(uploader, recorded, monkeypatch):
    # Whoever may set a machine's clock can forge every time of a file.
    forged = evidence_store.stamp(sha256_of(SAMPLES))
    other_bytes(recorded)
    monkeypatch.setattr(evidence_store, "stamp", lambda sha256: forged)
    assert evidence_checks.open_whole(sha256_of(SAMPLES)).read() != SAMPLES
    said = StringIO()
    with pytest.raises(CommandError, match="1 damaged, 0 missing"):
        call_command("verify_evidence", stdout=said)
    assert f"DAMAGED evidence  {sha256_of(SAMPLES)}" in said.getvalue()
    assert uploader.get(ADDRESS).json()["error"]["code"] == "evidence_damaged"


def test_verify_ledger_reads_evidence_when_it_is_asked_to(uploader, recorded):
    said = StringIO()
    call_command("verify_ledger", "--evidence", stdout=said)
    assert "ok      evidence  2 files checked" in said.getvalue()
    deleted(recorded)
    call_command("verify_ledger", stdout=StringIO())
    with pytest.raises(
        CommandError, match="1 broken; the first: evidence: 2 files checked; 0 damaged, 1 missing"
    ):
        call_command("verify_ledger", "--evidence", stdout=said)
    with pytest.raises(CommandError, match="expected --evidence"):
        call_command("verify_ledger", "--limit", "1", stdout=said)


def test_checks_in_parts_come_to_every_file_and_begin_with_those_unchecked_longest(recorded):
    StoredFile.objects.filter(sha256=sha256_of(LOG)).update(checked_at="2020-01-01T00:00:00Z")
    deleted(recorded)
    said = StringIO()
    call_command("verify_evidence", "--limit", "1", stdout=said)
    assert "1 files checked, 1 left for the next time" in said.getvalue()
    with pytest.raises(CommandError, match="1 missing"):
        call_command("verify_evidence", "--limit", "1", stdout=said)
    call_command("verify_evidence", "--older-than", "1", stdout=said)
    assert "0 files checked" in said.getvalue()


WRONG = [("--older-than", "-1"), ("--older-than", "nan"), ("--limit", "0"), ("--limit", "9" * 5000)]


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_a_wrong_option_is_named(db, option, value):
    with pytest.raises(CommandError, match=f"{option}: .* expected"):
        call_command("verify_evidence", f"{option}={value}")


def test_a_worker_checks_what_is_due_and_health_and_the_studys_page_tell(client, recorded, settings):
    assert client.get("/health/evidence/").json()["status"] == "passed"
    StoredFile.objects.update(checked_at="2020-01-01T00:00:00Z")
    deleted(recorded)
    check_what_is_due(seconds=60)
    answer = client.get("/health/evidence/")
    expected = {"status": "failed", "files": 2, "unchecked": 0, "damaged": 0, "missing": 1}
    assert (answer.status_code, answer.json()) == (503, expected)
    page = client.get("/studies/demo/evidence/?state=missing")
    assert f"files of evidence, {len(SAMPLES) + len(LOG):,} bytes: 1 missing." in text_of(page)
    assert "run-1" in text_of(page)
    assert sha256_of(LOG)[:8] not in page.content.decode()
    assert client.get("/studies/demo/evidence/?state=nonsense").status_code == 400


def test_another_studys_evidence_is_in_neither_ones_numbers(client, recorded):
    from tests.factories import make_small_study

    make_small_study(slug="other")
    assert "No file of evidence is stored for this study." in text_of(client.get("/studies/other/evidence/"))
