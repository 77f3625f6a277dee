"""``rlvram-upload`` on a GPU host: a run directory becomes one attempt, however the way there was."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth import get_user_model

from rlvram_site.api.keys import issue_key
from studies.models import Attempt, EvidenceBlob, EvidenceFile
from tests.api.logs import COMPLETED
from tests.upload.conftest import command, slot

pytestmark = pytest.mark.one_engine("the command's own work; interrupted uploads are tried on both engines")


def test_a_run_directory_becomes_an_attempt_and_again_is_no_news(site, key, run_directory):
    arguments = [str(run_directory), "--invocation", "run-7", "--slot", slot()]
    first = command(site.url, key, *arguments)
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert (told["outcome"], told["peak_mib"]) == ("completed", 38000)
    assert told["evidence_line"].startswith("training-7.log:2:")
    assert (told["status"], told["not_read"]) == ("recorded", [])
    assert told["page"] == f"{site.url}/studies/demo/attempts/run-7/"
    assert "weights.safetensors (model weights)" in first.stderr
    again = command(site.url, key, *arguments)
    assert (again.returncode, json.loads(again.stdout)["status"]) == (0, "unchanged")
    attempt = Attempt.objects.get()
    assert sorted(attempt.files.values_list("name", "kind")) == [
        ("gpu-memory-7.csv", "samples"), ("training-7.log", "log"), ("trial-7.json", "trial"),
    ]  # fmt: skip
    assert EvidenceBlob.objects.count() == 3


def test_of_a_long_log_the_tail_is_sent(site, key, run_directory):
    log = run_directory / "training-7.log"
    log.write_text("noise\n" * 100_000 + COMPLETED)
    done = command(site.url, key, str(run_directory), "--invocation", "run-7", "--max-mib", "0.1")
    assert done.returncode == 0, done.stderr
    file = EvidenceFile.objects.get(kind="log")
    assert (file.name, file.size_bytes) == ("tail.training-7.log", int(0.1 * (1 << 20)))
    assert "only the last 104857 are sent" in done.stderr
    left = {"file": "tail.training-7.log", "reason": "only its end was sent"}
    assert json.loads(done.stdout)["not_read"] == [left]
    assert Attempt.objects.get().outcome == "completed"


def test_private_files_are_only_named_by_their_hash(site, key, run_directory, tmp_path):
    record = tmp_path / "record.json"
    declared = {"outcome": "unresolved", "reason": "a colleague stopped it", "source": "the operator"}
    record.write_text(json.dumps({"declared": declared}))
    done = command(
        site.url, key, str(run_directory), "--invocation", "run-7", "--private", "--record", str(record)
    )
    assert done.returncode == 0, done.stderr
    assert EvidenceBlob.objects.count() == 0
    assert EvidenceFile.objects.filter(blob=None).count() == 3
    assert Attempt.objects.get().origin == "declared"


def test_the_servers_reason_is_printed(site, key, run_directory):
    refused = command(site.url, key, run_directory, "--invocation", "run 7")
    assert refused.returncode == 1
    assert "400" in refused.stderr
    assert "invocation_id" in refused.stderr
    assert command(site.url, key, run_directory / "none", "--invocation", "run-7").returncode == 2
    assert Attempt.objects.count() == 0


def test_a_wrong_entry_is_superseded_with_a_reason(site, run_directory):
    owner = get_user_model().objects.create_user("ada", is_staff=True)
    staff = issue_key(name="staff", owner=owner, scopes=["read", "attempts", "exclusions"])[1]
    wrong = [str(run_directory / "trial-7.json"), "--invocation", "run-7", "--slot", slot()]
    assert command(site.url, staff, *wrong).returncode == 0
    right = [str(run_directory), "--invocation", "run-7b", "--slot", slot(), "--supersedes", "run-7"]
    bare = command(site.url, staff, *right)
    assert (bare.returncode, "supersedes_reason" in bare.stderr) == (1, True)
    done = command(site.url, staff, *right, "--reason", "its log was missing")
    assert done.returncode == 0, done.stderr
    attempt = Attempt.objects.get(invocation_id="run-7b")
    assert (attempt.supersedes.invocation_id, attempt.supersedes_reason) == ("run-7", "its log was missing")
