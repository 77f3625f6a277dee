"""A CI job posts what an invocation left behind; the study's records show it at once."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Attempt, SeedSlot
from tests.api.conftest import key_for
from tests.api.logs import COMPLETED, OUT_OF_MEMORY, SAMPLES
from tests.factories import make_configuration, make_protocol, make_slots, make_study

ATTEMPTS = "studies/demo/attempts/"


def slot_name(study, index=0) -> str:
    return SeedSlot.objects.filter(study=study)[index].experiment_id


def shown(api, name="run-1") -> dict:
    """The attempt at its own address."""
    return api.get(f"{ATTEMPTS}by-id/{name}/").json()


def completed(study, name="run-1", **fields):
    return {
        "invocation_id": name, "slot": slot_name(study), "exit_code": 0, "log": COMPLETED, "samples": SAMPLES,
        **fields,
    }  # fmt: skip


def test_a_completed_run_shows_its_outcome_peak_and_evidence_line(study, uploader):
    answer = uploader.post(ATTEMPTS, completed(study))
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert (body["outcome"], body["origin"], body["peak_mib"]) == ("completed", "derived", 38000)
    assert body["evidence_line"].startswith("sent.log:2: step:1")
    assert shown(uploader)["role"] == "eligible"
    slot = uploader.get(f"studies/demo/slots/{slot_name(study)}/").json()
    assert (slot["state"], slot["eligible_attempt"]) == ("completed", "run-1")


def test_a_memory_failure_has_its_line_and_no_peak(study, uploader):
    body = uploader.post(ATTEMPTS, completed(study, exit_code=1, log=OUT_OF_MEMORY)).json()
    assert (body["outcome"], body["diagnosis"], body["peak_mib"]) == ("memory_failure", "cuda_oom", None)
    assert body["observed_peak_mib"] == 38000
    assert "CUDA out of memory" in shown(uploader)["evidence"][0]["text"]


def test_a_completion_without_sampled_memory_resolves_nothing(study, uploader):
    sent = completed(study)
    del sent["samples"]
    body = uploader.post(ATTEMPTS, sent).json()
    assert (body["outcome"], body["diagnosis"], body["peak_mib"]) == ("unresolved", "missing_evidence", None)
    assert "no memory was sampled" in body["reason"]
    derivation = shown(uploader)["derivation"]
    assert (derivation["outcome"], derivation["diagnosis"]) == ("unresolved", "missing_evidence")
    assert uploader.get(f"studies/demo/slots/{slot_name(study)}/").json()["state"] == "unresolved"


@pytest.mark.parametrize(
    ("cap", "more", "second"),
    [({"retries": 0}, False, "one more than the protocol permits"), ({"retries": 1}, True, "eligible")],
)
def test_the_answer_says_what_the_attempt_is_to_its_slot_and_whether_one_more_may_count(
    db, cap, more, second
):
    study = make_study(slug="own")
    make_protocol(study, document={"resource_cap": cap})
    make_slots(make_configuration(study))
    uploader, attempts = key_for("read", "attempts"), "studies/own/attempts/"
    unresolved = {**completed(study), "exit_code": 1, "log": "the program failed"}
    first = uploader.post(attempts, unresolved).json()
    assert (first["role"], first["one_more_may_count"]) == ("no outcome", more)
    slot = uploader.get(f"studies/own/slots/{first['slot']}/").json()
    assert (slot["tries_used"], slot["tries_permitted"]) == (1, 1 + cap["retries"])
    again = uploader.post(attempts, {**completed(study), "invocation_id": "run-2"}).json()
    assert (again["role"], again["one_more_may_count"]) == (second, False)


def test_peaks_can_come_without_their_samples(study, uploader):
    sent = completed(study, device_peaks_mib={"GPU-a": 30000.0, "GPU-b": 31000.5})
    del sent["samples"]
    body = uploader.post(ATTEMPTS, sent).json()
    assert (body["outcome"], body["peak_mib"]) == ("completed", 31000.5)
    assert shown(uploader)["derivation"]["device_peaks_mib"] == {"GPU-a": 30000, "GPU-b": 31000.5}


def test_the_same_again_changes_nothing(study, uploader):
    first = uploader.post(ATTEMPTS, completed(study, facts={"b": 1, "a": 2.0}))
    links = LedgerEntry.objects.count()
    again = uploader.post(ATTEMPTS, completed(study, facts={"a": 2, "b": 1}))
    assert (first.status_code, again.status_code) == (201, 200)
    assert {**again.json(), "status": "recorded"} == first.json()
    assert LedgerEntry.objects.count() == links


def test_other_content_under_the_same_id_is_refused_and_changes_nothing(study, uploader):
    uploader.post(ATTEMPTS, completed(study))
    of_the_study = LedgerEntry.objects.filter(stream__name=study.stream)
    links = of_the_study.count()
    answer = uploader.post(ATTEMPTS, completed(study, exit_code=1))
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert (error["code"], error["fields"][0]["field"]) == ("conflict", "invocation_id")
    assert Attempt.objects.get().exit_code == 0
    assert of_the_study.count() == links


def test_an_unknown_slot_is_refused_unless_it_is_said_to_be_unplanned(study, uploader):
    refused = uploader.post(ATTEMPTS, completed(study, slot="nobody-planned-this"))
    assert (refused.status_code, refused.json()["error"]["fields"][0]["field"]) == (400, "slot")
    batch = {"attempts": [completed(study, slot="nobody-planned-this")]}
    refused = uploader.post(f"{ATTEMPTS}batch/", batch)
    assert refused.json()["error"]["fields"][0]["field"] == "attempts[0].slot"
    assert not Attempt.objects.exists()
    body = uploader.post(ATTEMPTS, completed(study, slot="nobody-planned-this", unplanned=True)).json()
    assert (body["slot"], body["slot_name"]) == (None, "nobody-planned-this")
    assert shown(uploader)["role"] == "unplanned"
    listed = uploader.get(f"{ATTEMPTS}?planned=false").json()["results"]
    assert [row["invocation_id"] for row in listed] == ["run-1"]
    assert {row["state"] for row in uploader.get("studies/demo/slots/").json()["results"]} == {"unresolved"}


def test_the_uploaders_own_diagnosis_stands_beside_the_derived_one(study, uploader):
    sent = completed(study, exit_code=1, log=OUT_OF_MEMORY, claimed_diagnosis="timeout")
    body = uploader.post(ATTEMPTS, sent).json()
    assert (body["diagnosis"], body["claimed_diagnosis"], body["claim_disagrees"]) == (
        "cuda_oom",
        "timeout",
        True,
    )
    agreeing = uploader.post(
        ATTEMPTS, {**sent, "invocation_id": "run-2", "claimed_diagnosis": "cuda_oom"}
    ).json()
    assert agreeing["claim_disagrees"] is False


def test_files_come_with_a_form_and_are_kept_with_their_hashes(study, uploader):
    packed = gzip.compress(SAMPLES.encode())
    answer = uploader.form(
        ATTEMPTS,
        {
            "invocation_id": "run-9",
            "slot": slot_name(study),
            "exit_code": "0",
            "log": SimpleUploadedFile("console.txt", COMPLETED.encode()),
            "files": [
                SimpleUploadedFile("gpu-memory-7.csv.gz", packed),
                SimpleUploadedFile("notes.bin", b"\x00\x01"),
            ],
        },
    )
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert (body["outcome"], body["peak_mib"]) == ("completed", 38000)
    assert body["evidence_line"].startswith("console.txt.log:2:")
    files = {item["name"]: item for item in shown(uploader, "run-9")["files"]}
    assert files["gpu-memory-7.csv.gz"]["sha256"] == hashlib.sha256(packed).hexdigest()
    assert {item["kind"] for item in files.values()} == {"log", "samples", "other"}
    stored = uploader.get(f"studies/demo/evidence/{hashlib.sha256(packed).hexdigest()}/")
    assert b"".join(stored.streaming_content) == packed


def test_the_record_of_a_form_can_be_one_json_part(study, uploader):
    record = {"invocation_id": "run-9", "slot": slot_name(study), "exit_code": 1, "host": {"device_count": 2}}
    answer = uploader.form(
        ATTEMPTS,
        {
            "attempt": SimpleUploadedFile("attempt.json", json.dumps(record).encode()),
            "log": SimpleUploadedFile("training-7.log", OUT_OF_MEMORY.encode()),
        },
    )
    assert answer.status_code == 201, answer.content
    assert answer.json()["diagnosis"] == "cuda_oom"
    assert shown(uploader, "run-9")["facts"] == {"host": {"device_count": 2}}


def test_bytes_sent_before_are_named_by_their_hash(study, uploader):
    data = OUT_OF_MEMORY.encode()
    sha256 = hashlib.sha256(data).hexdigest()
    record = {
        "invocation_id": "run-9", "slot": slot_name(study), "exit_code": 1,
        "files": [{"name": "training-7.log", "sha256": sha256}],
    }  # fmt: skip
    missing = uploader.post(ATTEMPTS, record)
    assert missing.status_code == 400
    assert missing.json()["error"]["fields"][0]["field"] == "files[0].sha256"
    packed = {"Content-Encoding": "gzip"}
    first = uploader.put(f"studies/demo/evidence/{sha256}/", gzip.compress(data), **packed)
    again = uploader.put(f"studies/demo/evidence/{sha256}/", data)
    assert (first.status_code, again.status_code) == (201, 200)
    assert uploader.post(ATTEMPTS, record).json()["diagnosis"] == "cuda_oom"


def test_bytes_with_another_hash_are_refused(study, uploader):
    answer = uploader.put(f"studies/demo/evidence/{'0' * 64}/", b"something else")
    assert answer.status_code == 400
    assert "sha256" in answer.json()["error"]["message"]


def test_scheduler_records_say_that_the_host_ran_out_of_memory(study, uploader):
    sacct = (
        "JobID|JobIDRaw|JobName|State|ExitCode|Start|End|ElapsedRaw|AllocTRES|NodeList|Reason\n"
        "7|7|run|OUT_OF_MEMORY|0:125|2026-09-15T10:00:00|2026-09-15T10:05:00|300|gres/gpu=2|n1|None\n"
    )
    sent = {
        "invocation_id": "run-3",
        "slot": slot_name(study),
        "exit_code": 137,
        "scheduler": sacct,
        "job_id": "7",
    }
    body = uploader.post(ATTEMPTS, sent).json()
    assert (body["outcome"], body["diagnosis"]) == ("unresolved", "host_memory")
    assert shown(uploader, "run-3")["evidence"][0]["file"] == "sacct.sent.txt"


def test_foreign_processes_contaminate_a_run(study, uploader):
    body = uploader.post(ATTEMPTS, completed(study, other_processes=["pid 7 of somebody, 9,000 MiB"])).json()
    assert (body["outcome"], body["diagnosis"]) == ("unresolved", "contamination")


def test_late_files_are_attached_and_leave_the_outcome(study, uploader):
    body = uploader.post(ATTEMPTS, completed(study)).json()
    sha256 = hashlib.sha256(OUT_OF_MEMORY.encode()).hexdigest()
    uploader.put(f"studies/demo/evidence/{sha256}/", OUT_OF_MEMORY.encode())
    files = {"files": [{"name": "training-8.log", "sha256": sha256}]}
    path = f"{ATTEMPTS}by-id/run-1/files/"
    first, again = uploader.post(path, files), uploader.post(path, files)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["files"][0]["late"] is True
    assert uploader.get(f"{ATTEMPTS}by-id/run-1/").json()["outcome"] == body["outcome"]
    other = {"files": [{"name": "training-8.log", "sha256": "1" * 64, "private": True}]}
    assert uploader.post(path, other).status_code == 409


def test_bytes_that_come_later_under_a_private_files_hash_are_shown_everywhere(study, uploader, client):
    samples = SAMPLES.encode()
    sha256 = hashlib.sha256(samples).hexdigest()
    sent = completed(study, files=[{"name": "gpu-memory-1.csv", "sha256": sha256, "private": True}])
    del sent["samples"]
    uploader.post(ATTEMPTS, sent)
    page = "/studies/demo/attempts/run-1/"
    assert shown(uploader)["files"][0]["stored"] is False
    before = client.get(page)
    assert "not here: only its hash was given" in before.content.decode()
    assert before.context["memory"] is None
    outcome = shown(uploader)["outcome"]
    uploader.put(f"studies/demo/evidence/{sha256}/", samples)
    assert shown(uploader)["files"][0]["stored"] is True
    assert uploader.get(f"{ATTEMPTS}by-id/run-1/files/").json()["results"][0]["stored"] is True
    after = client.get(page)
    assert f"/api/v1/studies/demo/evidence/{sha256}/" in after.content.decode()
    assert after.context["memory"].source == "gpu-memory-1.csv"
    assert shown(uploader)["outcome"] == outcome  # it rests on what came with the attempt


def test_a_key_of_another_study_is_refused(study, db):
    from tests.factories import make_study

    other = key_for("read", "attempts", study=make_study(slug="other"))
    assert other.post(ATTEMPTS, completed(study)).status_code == 403
    assert other.get(ATTEMPTS).status_code == 403
    assert [row["slug"] for row in other.get("studies/").json()["results"]] == ["other"]
