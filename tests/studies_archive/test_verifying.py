"""`verify_study`: what it checks, what it says, and what it never looks at."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import sklearn
from django.core.management import CommandError, call_command

from studies.archive import environment
from studies.archive.errors import ArchiveError
from studies.models import Study
from tests.studies_archive.archives import ESTIMATION

pytestmark = pytest.mark.django_db


@pytest.fixture
def verify(tmp_path, capsys):
    """Run the command on an archive; returns exit status, line and report."""
    numbers = iter(range(100))

    def call(slug, root, *options):
        output = tmp_path / f"report-{next(numbers)}.json"
        status = 0
        capsys.readouterr()
        try:
            call_command("verify_study", slug, "--archive", str(root), "--output", str(output), *options)
        except SystemExit as stop:
            status = stop.code
        return status, capsys.readouterr().out.strip(), json.loads(output.read_text())

    return call


@pytest.fixture
def root(archive_path, archive):
    """The real archive, or one with the same facts."""
    return archive_path or archive.root


def test_a_sound_archive_passes_with_one_line(verify, root):
    status, line, report = verify("estimation", root)
    assert status == 0
    assert re.fullmatch(
        r"verify_study estimation: passed; hashes: \d+ verified, \d+ absent, 1 superseded; 3 checks, "
        r"\d+ values "
        r"compared; largest deviation \S+( at \S+)? \(rtol 1e-09, atol 1e-06\)",
        line,
    )
    assert report["passed"] is True
    assert report["largest_deviation"] < 1e-9
    assert {item["state"] for item in report["files"]} == {"verified", "absent", "superseded"}


def test_files_that_are_named_and_absent_are_listed_as_absent(verify, root):
    _, _, report = verify("estimation", root)
    states = {(item["document"], item["path"]): item["state"] for item in report["files"]}
    seal = f"{ESTIMATION}/prediction_freeze.json"
    assert states[seal, "benchmark/attempts.csv"] == "absent"
    assert states[seal, "memory_tuner/estimation_baselines.py"] == "absent"
    assert states[f"{ESTIMATION}/protocol.json", "memory_tuner/estimation_baselines.py"] == "superseded"
    assert states[seal, "benchmark/outcomes.csv"] == "verified"


def test_a_refit_agrees_but_for_the_classifier_whose_versions_are_named(verify, root):
    status, line, report = verify("estimation", root, "--refit")
    assert status == 0
    fresh, classifier = report["checks"][-2:]
    assert fresh["passed"]
    assert fresh["largest_deviation"] < 1e-9
    same = all(
        report["environment"][key] == report["recorded_versions"][name]
        for key, name in (("numpy", "numpy"), ("scipy", "scipy"), ("scikit_learn", "scikit-learn"))
    )
    assert classifier["decides"] is same
    if not same:
        assert "library-version deviation: classifier parameters differ by up to" in line
        assert (
            "--recorded-environment reproduces them with numpy 1.24.3, scipy 1.10.1, scikit-learn 1.3.0"
            in line
        )


def test_the_follow_up_has_inherited_its_predictions_unchanged(verify, root):
    status, _, report = verify("host-capacity", root, "--refit")
    assert status == 0
    inherited = report["checks"][0]
    assert (inherited["name"], inherited["largest_deviation"]) == ("predictions inherited unchanged", 0)
    assert inherited["compared"] > 100


def test_what_is_recorded_is_compared_too(verify, root):
    call_command("import_study", str(root), verbosity=0)
    status, _, report = verify("estimation", root)
    assert status == 0
    assert report["checks"][-1]["name"] == "plan, predictions and seal as recorded here"
    assert report["checks"][-1]["passed"]


def test_an_archive_that_differs_from_what_is_recorded_fails(verify, archive):
    call_command("import_study", str(archive.root), verbosity=0)
    archive.edit_json(
        f"{ESTIMATION}/prediction_freeze.json", lambda seal: seal.update(fit_and_predict_cpu_wall_seconds=7.5)
    )
    archive.rehash()
    status, line, _ = verify("estimation", archive.root)
    assert status == 1
    assert re.match(r"verify_study estimation: failed; .*seal panel sha256: ", line)


def test_json_on_the_screen_is_the_report(verify, root):
    _, out, report = verify("estimation", root, "--format", "json")
    assert json.loads(out) == report


def test_it_writes_nothing_into_the_archive_and_nothing_into_the_database(verify, archive):
    before = {path: path.read_bytes() for path in archive.root.rglob("*") if path.is_file()}
    verify("estimation", archive.root, "--refit")
    assert {path: path.read_bytes() for path in archive.root.rglob("*") if path.is_file()} == before
    assert Study.objects.count() == 0


def test_it_never_reads_prospective_outcomes(verify, archive):
    """With every outcome gone, or turned into nonsense under fitting hashes, the result is the same."""
    _, _, report = verify("estimation", archive.root, "--refit")
    for path in archive.path(f"{ESTIMATION}/results").iterdir():
        if path.name != "output_manifest.json":
            path.write_bytes(b"\xff no table, no document")
    archive.rehash()
    archive.path(f"{ESTIMATION}/execution_history.json").write_bytes(b"\xff neither")
    status, _, nonsense = verify("estimation", archive.root, "--refit")
    assert (status, nonsense["checks"]) == (0, report["checks"])
    shutil.rmtree(archive.path(f"{ESTIMATION}/results"))
    archive.path(f"{ESTIMATION}/execution_history.json").unlink()
    status, _, without = verify("estimation", archive.root, "--refit")
    assert (status, without["checks"]) == (0, report["checks"])


def test_a_changed_byte_fails_and_is_named(verify, archive):
    archive.replace("benchmark/outcomes.csv", "within_margin", "above_margin")
    status, line, report = verify("estimation", archive.root)
    assert status == 1
    assert line.startswith("verify_study estimation: failed; benchmark/outcomes.csv: sha256 is ")
    assert report["passed"] is False


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        (
            "fitted_model.json",
            lambda model: model["component_coefficients_gib"].__setitem__(0, 7.0),
            "predictions from the stored fit: $[",
        ),
        (
            "retrospective.json",
            lambda document: document["folds"]["phi4"]["scores"]["donor_copy"].update(approved=21),
            "folds from their stored fits: $.folds.phi4.scores.donor_copy.approved: deviates by 1; "
            "expected 21, found 22",
        ),
        (
            "fitted_model.json",
            lambda model: model["source_cost"]["distinct_selected_donors"].update(recorded_attempts=33),
            "cost of the evidence: $.distinct_selected_donors.recorded_attempts: deviates by 1; "
            "expected 33, found 34",
        ),
        (
            "fitted_model.json",
            lambda model: model["feature_names"].reverse(),
            "feature_names is ",
        ),
    ],
)
def test_results_that_do_not_follow_from_the_fit_fail(verify, archive, name, change, words):
    archive.edit_json(f"{ESTIMATION}/{name}", change)
    archive.rehash()
    status, line, _ = verify("estimation", archive.root)
    assert status == 1
    assert words in line


def test_a_fit_that_cannot_be_reproduced_fails(verify, archive):
    def change(model):
        model["component_coefficients_gib"][0] += 1e-3

    archive.edit_json(f"{ESTIMATION}/fitted_model.json", change)
    archive.rehash()
    status, line, _ = verify("estimation", archive.root, "--refit")
    assert status == 1
    assert (
        "fresh fit, without the classifier's parameters: $.fitted_model.component_coefficients_gib[0]" in line
    )


def test_an_output_file_that_exists_is_left_alone(root, tmp_path):
    path = tmp_path / "there.json"
    path.write_text("mine")
    with pytest.raises(CommandError, match=r"there.json: exists already"):
        call_command("verify_study", "estimation", "--archive", str(root), "--output", str(path))
    assert path.read_text() == "mine"


def test_a_folder_or_a_study_that_is_none(root, tmp_path):
    output = ("--output", str(tmp_path / "x.json"))
    with pytest.raises(CommandError, match="no folder 'benchmark' in it"):
        call_command("verify_study", "estimation", "--archive", str(tmp_path), *output)
    with pytest.raises(CommandError, match="study 'x', expected one of estimation, host-capacity"):
        call_command("verify_study", "x", "--archive", str(root), *output)


def test_a_recorded_version_that_is_none_is_not_handed_to_pip(verify, archive):
    archive.edit_json(
        f"{ESTIMATION}/fitted_model.json",
        lambda model: model["numerical_environment"].update(numpy="1.24.3 --index-url x"),
    )
    archive.rehash()
    status, line, _ = verify("estimation", archive.root, "--recorded-environment")
    assert status == 1
    assert "numerical_environment.numpy: '1.24.3 --index-url x', expected a version like 1.24.3" in line


def test_an_environment_that_cannot_be_built_says_what_is_missing(
    verify, archive, settings, tmp_path, monkeypatch
):
    settings.DATA_DIR = tmp_path / "data"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    status, line, report = verify("estimation", archive.root, "--recorded-environment")
    assert status == 1
    assert "the recorded environment needs numpy==1.24.3, scikit-learn==1.3.0, scipy==1.10.1" in line
    assert report["problem"]
    assert not list((tmp_path / "data/environments").glob("*/ready.json"))


def test_in_the_recorded_environment_the_classifier_must_agree_too(verify, archive, settings, tmp_path):
    """An environment that is ready is used; with other versions in it, the classifier's deviation fails."""
    settings.DATA_DIR = tmp_path
    versions = {"numpy": "1.24.3", "scipy": "1.10.1", "scikit-learn": "1.3.0"}
    folder = environment.environment_folder(versions, tmp_path)
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin/python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (folder / environment.READY).touch()
    status, _, report = verify("estimation", archive.root, "--recorded-environment")
    fresh, classifier = report["checks"][-2:]
    assert fresh["passed"]
    assert (classifier["decides"], classifier["note"]) == (True, "")
    assert status == (0 if classifier["passed"] else 1)
    assert classifier["passed"] is (sklearn.__version__ == "1.3.0")


def test_a_worker_that_dies_is_reported_in_its_own_words():
    stopped = "the refit stopped with status 2: refit payload: version is None"
    with pytest.raises(ArchiveError, match=stopped):
        environment.refit_in(Path(sys.executable), {}, Path(__file__).resolve().parents[2])
