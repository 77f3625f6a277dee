"""Uploads that are refused, killed or never go on: no record names their bytes, and they go. Nothing else."""

from __future__ import annotations

import datetime as dt
import os
import time
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as site_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlvram_site.ledger.chain import head
from studies.models import EvidenceBlob, EvidenceFile, PendingEvidence, StoredFile
from studies.services.outcomes import evidence_store
from studies.services.outcomes.evidence_leftovers import collect
from tests.attacks.conftest import attempt, put, sha256_of
from tests.factories import make_small_study

DAY = dt.timedelta(days=1)
LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def stored() -> set[str]:
    return {sha256 for sha256, _ in evidence_store.stored()}


def grow_old() -> None:
    """As if everything that lies and waits had come long ago."""
    for root in (Path(site_settings.MEDIA_ROOT), Path(site_settings.FILE_UPLOAD_TEMP_DIR)):
        for path in root.rglob("*"):
            if path.is_file():
                os.utime(path, (LONG_AGO.timestamp(), LONG_AGO.timestamp()))
    PendingEvidence.objects.update(sent_at=LONG_AGO)
    StoredFile.objects.update(sent_at=LONG_AGO)


def run(*arguments: str) -> str:
    said = StringIO()
    call_command("collect_evidence", *arguments, stdout=said)
    return said.getvalue()


def test_a_refused_form_and_bytes_without_an_attempt_are_in_no_record(store, study, uploader):
    before = head("study/demo")
    form = {"invocation_id": "not an id", "files": SimpleUploadedFile("a.log", b"refused with its form")}
    assert uploader.form("studies/demo/attempts/", form).status_code == 400
    form = {
        "invocation_id": "run-1",
        "slot": "no-such-slot",
        "files": SimpleUploadedFile("a.log", b"refused"),
    }
    assert uploader.form("studies/demo/attempts/", form).status_code == 400
    assert put(uploader, b"nothing follows").status_code == 201
    assert head("study/demo") == before
    assert not EvidenceBlob.objects.exists()
    grow_old()
    assert "sent for demo, named by no attempt" in run()
    assert stored() == set()
    assert not PendingEvidence.objects.exists()
    assert not StoredFile.objects.exists()


def test_bytes_are_recorded_with_the_first_attempt_that_names_them(store, study, uploader):
    put(uploader, b"log of a run")
    assert uploader.get("studies/demo/evidence/").json()["pending_files"] == 1
    assert attempt(uploader, "run-1", ("a.log", b"log of a run")).status_code == 201
    summary = uploader.get("studies/demo/evidence/").json()
    assert (summary["files"], summary["pending_files"], summary["size_bytes"]) == (1, 0, 12)
    assert EvidenceFile.objects.get().blob == EvidenceBlob.objects.get()
    grow_old()
    assert run() == "0 removed\n"
    assert stored() == {sha256_of(b"log of a run")}


def test_bytes_that_come_after_their_hash_are_recorded_when_they_come(store, study, uploader):
    assert attempt(uploader, "run-1", ("a.log", b"private at first"), private=True).status_code == 201
    assert put(uploader, b"private at first").status_code == 201
    assert EvidenceBlob.objects.get().sha256 == sha256_of(b"private at first")
    assert not PendingEvidence.objects.exists()
    files = uploader.get("studies/demo/attempts/by-id/run-1/files/").json()["results"]
    assert [file["bytes"] for file in files] == ["here"]


def test_a_dry_run_names_the_same_and_removes_nothing(store, study, uploader):
    put(uploader, b"kept")
    attempt(uploader, "run-1", ("a.log", b"kept"))
    put(uploader, b"forgotten")
    evidence_store.store([b"of nobody"], "a")
    (store / "incoming-7-x").write_bytes(b"half")
    form_part = Path(site_settings.FILE_UPLOAD_TEMP_DIR) / "tmpabc.upload.log"
    form_part.parent.mkdir(exist_ok=True)
    form_part.write_bytes(b"half a form")
    grow_old()
    would = run("--dry-run")
    assert stored() == {sha256_of(content) for content in (b"kept", b"forgotten", b"of nobody")}
    done = run()
    assert would.replace("would be removed", "removed") == done
    assert done.splitlines()[-1] == "5 removed"
    assert stored() == {sha256_of(b"kept")}
    assert not form_part.exists()
    assert not (store / "incoming-7-x").exists()


def test_what_came_just_now_stays_and_what_is_not_ours_too(store, study, uploader):
    put(uploader, b"on its way")
    (store / "incoming-8-y").write_bytes(b"on its way")
    stranger = store / "aa" / "notes.gz"
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_bytes(b"somebody's")
    os.utime(stranger, (0, 0))
    assert run() == "0 removed\n"
    assert stored() == {sha256_of(b"on its way")}
    assert stranger.exists()


def test_bytes_that_another_study_has_stay(store, study, uploader):
    make_small_study(slug="other")
    put(uploader, b"shared")
    put(uploader, b"shared", study="other")
    attempt(uploader, "run-1", ("a.log", b"shared"))
    grow_old()
    assert "sent for other" in run()
    assert stored() == {sha256_of(b"shared")}


def test_an_attempt_whose_bytes_were_removed_meanwhile_is_refused(store, study, uploader):
    put(uploader, b"too late")
    grow_old()
    run()
    answer = attempt(uploader, "run-1", ("a.log", b"too late"))
    assert answer.status_code == 400
    assert "PUT them first" in answer.json()["error"]["message"]


@pytest.mark.parametrize("hours", ["-1", "nan", "1e300"])
def test_a_wrong_grace_is_named(db, hours):
    with pytest.raises(CommandError, match=r"--older-than-hours is .*, expected a number"):
        run(f"--older-than-hours={hours}")


STEPS = st.lists(st.tuples(st.sampled_from(["put", "attempt", "late", "old", "collect"]), st.integers(0, 2)))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_in_whatever_order_nothing_that_a_record_names_is_ever_removed(
    study, uploader, tmp_path_factory, steps
):
    started = time.time_ns()
    with override_settings(MEDIA_ROOT=tmp_path_factory.mktemp("media")):
        for number, (step, which) in enumerate(steps):
            content, name = b"content %d of %d" % (which, started), f"run-{started}-{number}"
            if step == "put":
                assert put(uploader, content).status_code in (200, 201)
            elif step == "attempt":
                assert attempt(uploader, name, (f"{which}.log", content)).status_code in (201, 400)
            elif step == "late":
                assert attempt(uploader, name, (f"{which}.log", content), private=True).status_code == 201
            elif step == "old":
                grow_old()
            else:
                list(collect(DAY))
            named = set(EvidenceBlob.objects.values_list("sha256", flat=True))
            ours = {sha256_of(b"content %d of %d" % (item, started)) for item in range(3)}
            assert named & ours <= stored()
            assert set(PendingEvidence.objects.values_list("sha256", flat=True)) & ours <= stored()
