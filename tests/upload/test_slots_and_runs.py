"""Slots that are misspelt, many runs in one call, verdicts for CI, and commits."""

from __future__ import annotations

import json
import shutil

import pytest
import requests
from django.utils import timezone

from host.uploading import upload_run
from studies.models import Attempt, Prediction, Seal, SeedSlot
from tests.api.logs import OUT_OF_MEMORY, SAMPLES
from tests.factories import make_attempt, make_prediction_set
from tests.upload.conftest import command, slot


def test_a_misspelt_slot_is_refused_and_the_planned_ones_are_offered(site, key, run_directory):
    wrong = slot()[:-1] + "x"
    refused = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", wrong)
    assert refused.returncode == 1
    assert f"'{wrong}' is no planned slot of demo; the nearest: " in refused.stderr
    assert slot() in refused.stderr
    assert not Attempt.objects.exists()
    done = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", wrong, "--unplanned")
    assert done.returncode == 0, done.stderr
    assert (Attempt.objects.get().slot, Attempt.objects.get().slot_name) == (None, wrong)
    planned = command(site.url, key, run_directory, "--invocation", "run-8", "--slot", slot(), "--unplanned")
    assert (planned.returncode, "is planned" in planned.stderr) == (1, True)
    bare = command(site.url, key, run_directory, "--invocation", "run-9")
    assert (bare.returncode, "this invocation counts nowhere" in bare.stderr) == (0, True)


@pytest.fixture
def three(run_directory, tmp_path):
    """Three run directories; the second one's log is an out-of-memory."""
    folders = []
    for number in range(3):
        folder = shutil.copytree(run_directory, tmp_path / f"seed-{number}")
        (folder / "record.json").write_text(json.dumps({"slot": slot(number), "exit_code": int(number == 1)}))
        folders.append(folder)
    (folders[1] / "training-7.log").write_text(OUT_OF_MEMORY)
    (folders[1] / "trial-7.json").unlink()
    return folders


def test_many_runs_go_in_one_call_that_can_be_made_again(site, key, three):
    spoilt = three[2] / "record.json"
    right = spoilt.read_text()
    spoilt.write_text('{"slot": "no such slot"}')
    first = command(site.url, key, *three, "--each", "--invocation", "ci-{name}")
    assert first.returncode == 1
    assert "2 of 3 runs are recorded" in first.stderr
    assert [json.loads(line)["outcome"] for line in first.stdout.splitlines()] == [
        "completed",
        "memory_failure",
    ]
    spoilt.write_text(right)
    again = command(site.url, key, *three, "--each", "--invocation", "ci-{name}")
    assert again.returncode == 0, again.stderr
    assert [json.loads(line)["status"] for line in again.stdout.splitlines()] == [
        "unchanged",
        "unchanged",
        "recorded",
    ]
    assert sorted(Attempt.objects.values_list("invocation_id", flat=True)) == [
        "ci-seed-0",
        "ci-seed-1",
        "ci-seed-2",
    ]
    same = command(site.url, key, three[0], three[1], "--each", "--invocation", "one")
    assert (same.returncode, "two runs would be called one" in same.stderr) == (2, True)


FAIL_ON = [
    "--fail-on",
    "memory_failure",
    "--fail-on",
    "above_margin",
    "--fail-on",
    "unresolved",
    "--fail-on",
    "regression",
]


@pytest.mark.parametrize(
    ("log", "samples", "code", "state"),
    [
        (None, SAMPLES, 0, "within_margin"),
        (OUT_OF_MEMORY, SAMPLES, 10, "memory_failure"),
        (None, SAMPLES.replace("38000", "39001"), 11, "above_margin"),
        ("nothing\n", SAMPLES, 12, "unresolved"),
    ],
)
def test_each_finding_has_an_exit_code_of_its_own(site, key, run_directory, log, samples, code, state):
    if log:
        (run_directory / "training-7.log").write_text(log)
        (run_directory / "trial-7.json").write_text('{"exit_code": 1}')
    (run_directory / "gpu-memory-7.csv").write_text(samples)
    arguments = [run_directory, "--invocation", "run-7", "--slot", slot()]
    done = command(site.url, key, *arguments, *FAIL_ON)
    assert done.returncode == code, done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"]["state"] == state
    assert command(site.url, key, *arguments).returncode == 0


def test_worse_than_before_or_than_every_sealed_prediction_is_a_regression(site, key, run_directory):
    first, second = SeedSlot.objects.order_by("pk")[0], SeedSlot.objects.order_by("pk")[3]
    make_attempt(first, "completed", 30_000)
    (run_directory / "gpu-memory-7.csv").write_text(SAMPLES.replace("38000", "39001"))
    only = ["--fail-on", "regression"]
    done = command(
        site.url, key, run_directory, "--invocation", "run-7", "--slot", first.experiment_id, *only
    )
    assert done.returncode == 13, done.stderr
    assert "worse than" in done.stderr
    assert "which was within margin" in done.stderr
    sealed = make_prediction_set(first.study)
    for method in ("donor_copy", "component_regression"):
        Prediction(
            study=first.study, prediction_set=sealed, configuration=second.configuration, method=method,
            label="within_margin", guard_applicable=False,
        ).save()  # fmt: skip
    Seal(
        study=first.study, prediction_set=sealed, sha256="c" * 64, source_path="seal.json",
        sealed_at=timezone.now(), protocol_sha256="a" * 64,
    ).save()  # fmt: skip
    done = command(
        site.url, key, run_directory, "--invocation", "run-8", "--slot", second.experiment_id, *only
    )
    assert done.returncode == 13, done.stderr
    assert "worse than every sealed prediction" in done.stderr


def test_commits_are_recorded_listed_filtered_and_linked(site, key, run_directory, client):
    commit = "a1b2c3d4" * 5
    said = ["--commit", commit, "--repository", "https://github.com/o/n", "--pull-request", 12]
    done = command(site.url, key, run_directory, "--invocation", "run-7", "--slot", slot(), *said)
    assert done.returncode == 0, done.stderr
    attempt = Attempt.objects.get()
    assert attempt.execution_commit == commit
    assert (attempt.facts["repository"], attempt.facts["pull_request"]) == ("https://github.com/o/n", 12)
    address = f"{site.url}/api/v1/studies/demo/attempts/"
    for query in (f"commit={commit}", "repository=https://github.com/o/n", "pull_request=12"):
        found = requests.get(
            f"{address}?{query}", headers={"Authorization": f"Api-Key {key}"}, timeout=30
        ).json()
        assert [row["invocation_id"] for row in found["results"]] == ["run-7"]
    assert not requests.get(
        f"{address}?commit=b", headers={"Authorization": f"Api-Key {key}"}, timeout=30
    ).json()["results"]
    listed = client.get("/studies/demo/commits/").content.decode()
    assert f'href="https://github.com/o/n/commit/{commit}"' in listed
    one = client.get(f"/studies/demo/commits/{commit}/").content.decode()
    assert 'href="https://github.com/o/n/pull/12"' in one
    assert "/studies/demo/attempts/run-7/" in one
    badge = client.get("/studies/demo/badge.svg")
    assert badge["Content-Type"] == "image/svg+xml"
    assert f"within margin · {commit[:8]}" in badge.content.decode()
    assert client.get("/studies/demo/badge.svg?commit=none").status_code == 200
    wrong = command(site.url, key, run_directory, "--invocation", "run-8", "--repository", "git@host:o/n")
    assert (wrong.returncode, "repository" in wrong.stderr) == (1, True)


def test_python_calls_it_too(site, key, run_directory, monkeypatch):
    monkeypatch.setenv("RLVRAM_KEY", key)
    said: list[str] = []
    answer = upload_run(
        run_directory,
        url=site.url,
        study="demo",
        invocation="run-7",
        slot=slot(),
        exit_code=0,
        tell=said.append,
    )
    assert (answer["status"], answer["outcome"], answer["peak_mib"]) == ("recorded", "completed", 38_000)
    assert said == ["left out: weights.safetensors (model weights)"]
