"""``run_job`` on the bundled studies: what each kind gives, and that nothing is computed twice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from studies.archive import environment
from tests.conftest import ROOT
from tests.site.prepared import prepared_folder, shell_environment
from tests.studies_archive.archives import write_archive

# Approvals of the sealed panel, as the real study published them.
APPROVALS = {"donor_copy": 12, "component_regression": 3, "logistic": 0}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder of our own: the jobs of these tests stay in it."""
    return prepared_folder(tmp_path_factory, "jobs")


def run_job(data, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "run_job", *arguments],
        cwd=ROOT,
        env=shell_environment(DATA_DIR=str(data)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def answer(data, *arguments: str) -> dict:
    done = run_job(data, *arguments, "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_refit_of_the_real_study_gives_the_published_predictions(data):
    first = answer(data, "refit", "--study", "estimation")
    document = first["result"]["document"]
    assert document["comparison"]["predictions"]["agrees"]
    assert document["comparison"]["parameters"]["agrees"]
    approvals = dict.fromkeys(APPROVALS, 0)
    for item in document["predictions"]:
        approvals[item["method"]] += item["predicted_state"] == "within_margin"
    assert approvals == APPROVALS
    # Again: found, not computed.
    again = run_job(data, "refit", "--study", "estimation")
    assert f"(found in job {first['job']}, same inputs)" in again.stdout
    afresh = answer(data, "refit", "--study", "estimation", "--afresh")
    assert afresh["result"]["job"] == afresh["job"]
    assert afresh["result"]["document"]["predictions"] == document["predictions"]


def test_a_draft_is_predicted_and_sealed_once(data):
    made = subprocess.run(
        [sys.executable, "-m", "tests.jobs.make_draft"],
        cwd=ROOT,
        env=shell_environment(DATA_DIR=str(data), DJANGO_SETTINGS_MODULE="rlvram_site.settings"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    sealed = answer(data, "predict-and-seal", "--study", "draft")
    assert sealed["result"]["sentence"] == "36 predictions recorded and sealed."
    refit = answer(data, "refit", "--study", "draft")
    verdict = refit["result"]["document"]["comparison"]
    assert [part["agrees"] for part in verdict.values()] == [True, True, True]
    again = run_job(data, "predict-and-seal", "--study", "draft", "--afresh")
    assert again.returncode == 1
    assert "study draft is sealed already" in again.stdout
    chain = subprocess.run(
        [sys.executable, "manage.py", "verify_ledger"],
        cwd=ROOT, env=shell_environment(DATA_DIR=str(data)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert chain.returncode == 0, chain.stdout


def test_a_refit_in_the_recorded_environment_uses_that_environment(data):
    # One that is ready is used; here its interpreter is this one, so that no package index is needed.
    versions = {"numpy": "1.24.3", "scipy": "1.10.1", "scikit-learn": "1.3.0"}
    folder = environment.environment_folder(versions, data)
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\ntouch "{folder}/used"\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (folder / environment.READY).touch()
    ran = answer(data, "refit", "--study", "estimation", "--set", "recorded_environment=true")
    assert (folder / "used").exists()
    assert ran["result"]["document"]["comparison"]["predictions"]["agrees"]


def test_an_archive_in_the_servers_folder_is_known_by_its_name(data):
    # The same facts in files of its own: sound in itself, and with other hashes than what is recorded.
    write_archive(data / "archives" / "study")
    arguments = ["--study", "estimation", "--set", "archive=study", "--set", "refit=true"]
    result = answer(data, "verify", *arguments)["result"]
    assert result["sentence"].startswith("verify_study estimation: failed; hashes: ")
    failed = [
        check["name"] for check in result["document"]["checks"] if check["decides"] and not check["passed"]
    ]
    assert failed == ["plan, predictions and seal as recorded here"]
    imported = run_job(data, "import", "--set", "source=study", "--set", "only=estimation")
    assert imported.returncode == 1
    assert "study estimation is already recorded and this one differs" in imported.stdout
    assert "Nothing was changed." in imported.stdout


def test_an_evaluation_links_what_it_recorded(data):
    result = answer(data, "evaluate", "--study", "estimation")["result"]
    assert "6 of 12 configurations are resolved" in result["sentence"]
    assert len(result["document"]["evaluations"]) == 4
    assert result["links"][0]["address"] == "/studies/estimation/#approvals"


def test_an_export_can_be_imported_as_a_job(data, tmp_path):
    exported = answer(data, "export", "--study", "host-capacity")["result"]["document"]
    bundle = data / "exports" / f"{exported['sha256']}.json"
    assert bundle.stat().st_size == exported["bytes"]
    imported = answer(data, "import", "--set", f"source={bundle}")["result"]
    assert {report["slug"]: report["changed"] for report in imported["document"]["reports"]} == {
        "rlvrambench": False, "estimation": False, "host-capacity": False,
    }  # fmt: skip


def test_what_cannot_be_done_fails_with_a_sentence(data):
    refit = run_job(data, "refit", "--study", "host-capacity")
    assert refit.returncode == 1
    assert "its predictions are inherited; refit estimation instead" in refit.stdout
    sealed = run_job(data, "predict-and-seal", "--study", "estimation")
    assert sealed.returncode == 1
    assert "study estimation is sealed already" in sealed.stdout
    assert "Traceback" not in refit.stdout + refit.stderr + sealed.stdout + sealed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["refit"], "study: is not given, expected the study to refit"),
        (["refit", "--study", "nope"], "study 'nope' is not recorded"),
        (["refitt", "--study", "estimation"], "kind: is 'refitt', expected one of evaluate, export"),
        (["refit", "--study", "estimation", "--set", "x"], "--set 'x': expected NAME=VALUE"),
        (["import", "--set", "source=nowhere"], "parameters.source: is 'nowhere', expected one of the"),
    ],
)
def test_wrong_arguments_are_explained(data, arguments, message):
    done = run_job(data, *arguments)
    assert done.returncode == 1
    assert f"CommandError: {message}" in done.stderr


def test_a_queued_job_waits_for_a_worker(data):
    done = run_job(data, "evaluate", "--study", "estimation", "--enqueue")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("is queued\n")
