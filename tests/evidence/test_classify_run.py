"""`manage.py classify_run` prints the outcome of a log file or a run directory."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.evidence.log_cases import CASES, STEP_1

REPOSITORY = Path(__file__).resolve().parents[2]
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capa"


def classify(path: Path, *options: str) -> dict:
    out = io.StringIO()
    call_command("classify_run", str(path), *options, "--format", "json", stdout=out)
    return json.loads(out.getvalue())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "training-1.log"
    path.write_text(f"starting\n{OOM}\nbye\n")
    return path


def test_it_prints_outcome_diagnosis_peak_and_evidence_of_a_log(log: Path) -> None:
    data = classify(log, "--exit-code", "1", "--steps", "1")

    assert (data["outcome"], data["diagnosis"], data["peak_mib"]) == ("memory_failure", "cuda_oom", None)
    first = data["evidence"][0]
    assert (first["file"], first["line"], first["text"]) == ("training-1.log", 2, OOM)


def test_every_log_text_comes_out_the_same_as_from_the_functions(tmp_path: Path) -> None:
    (tmp_path / "gpu-memory-1.csv").write_text("100,28882\n")
    for case in CASES:
        (tmp_path / "training-1.log").write_text(case.text, encoding="utf-8")
        code = [] if case.exit_code is None else ["--exit-code", str(case.exit_code)]
        data = classify(tmp_path, *code, "--steps", "1")
        assert (case.name, data["outcome"], data["diagnosis"]) == (case.name, case.outcome, case.diagnosis)
        assert data["evidence"][0]["line"] == case.line


def test_it_prints_the_peak_of_a_directory(log: Path) -> None:
    (log.parent / "gpu-memory-1.csv").write_text("100,28882,5\n200,1,2\n")

    assert classify(log.parent, "--exit-code", "1")["peak_mib"] == 28882


def test_it_prints_text_for_a_person(log: Path) -> None:
    out = io.StringIO()
    call_command("classify_run", str(log), "--exit-code", "1", stdout=out)

    assert out.getvalue().splitlines()[:4] == [
        "outcome: memory_failure",
        "diagnosis: cuda_oom",
        "reason: Device out of memory in training.",
        "peak_mib: -",
    ]
    assert f"decided by: training-1.log:2: {OOM}" in out.getvalue()


def test_it_takes_the_protocol_s_pattern(log: Path) -> None:
    log.write_text("iteration 5 done\n")

    (log.parent / "gpu-memory-1.csv").write_text("100,28882\n")
    pattern = ("--pattern", r"iteration (?P<step>\d+) done")
    assert classify(log.parent, "--exit-code", "0", "--steps", "5", *pattern)["outcome"] == "completed"


@pytest.mark.parametrize("samples", [None, "", "100,0\n", "100,N/A\n"])
def test_a_completion_whose_memory_nobody_sampled_is_unresolved(log: Path, samples: str | None) -> None:
    """It says nothing about the margin, so it resolves nothing; the record stays the deciding line."""
    log.write_text(f"starting\n{STEP_1}\n")
    if samples is not None:
        (log.parent / "gpu-memory-1.csv").write_text(samples)
    data = classify(log.parent, "--exit-code", "0", "--steps", "1")

    assert (data["outcome"], data["diagnosis"]) == ("unresolved", "missing_evidence")
    assert "no memory was sampled" in data["reason"]
    assert (data["evidence"][0]["file"], data["evidence"][0]["line"]) == ("training-1.log", 2)
    (log.parent / "gpu-memory-1.csv").write_text("100,28882\n")
    assert classify(log.parent, "--exit-code", "0", "--steps", "1")["outcome"] == "completed"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--steps", "0"], "steps is 0"),
        (["--pattern", "x"], "pattern is 'x'"),
        (["--pattern", "("], "pattern is"),
    ],
)
def test_an_unusable_option_is_named(log: Path, options: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words) as caught:
        call_command("classify_run", str(log), *options)
    assert caught.value.returncode == 2


def test_from_the_shell_it_exits_with_0_for_an_outcome_and_2_for_a_bad_path(log: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", "classify_run", *arguments]
        return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    (log.parent / "gpu-memory-1.csv").write_text("100,28882\n")
    log.write_text(STEP_1 + "\n")
    good = run(str(log.parent), "--exit-code", "0", "--steps", "1", "--format", "json")
    assert (good.returncode, json.loads(good.stdout)["outcome"]) == (0, "completed")

    absent = run(str(log.parent / "absent"))
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "expected an existing file or directory" in absent.stderr
    assert "Traceback" not in absent.stderr

    empty = log.parent / "empty"
    empty.mkdir()
    refused = run(str(empty))
    assert refused.returncode == 2
    assert "files is []" in refused.stderr
