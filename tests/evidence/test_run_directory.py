"""A run directory as the study's hosts leave it leads to the outcome, whatever in it is broken or absent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from studies.evidence.collect import RunFile, collect_run
from studies.evidence.completion import CompletionRule
from studies.evidence.errors import EvidenceError
from studies.evidence.files import read_evidence, read_run_directory
from studies.evidence.outcome import DerivedOutcome, derive_outcome
from studies.evidence.report import as_data, as_text
from tests.evidence.log_cases import STEP_1

JOB = "5055846"
SACCT = (
    "JobID|JobIDRaw|JobName|State|ExitCode|Start|End|ElapsedRaw|AllocTRES|NodeList|Reason\n"
    "5055845_1|{job}|host|{state}|{code}|2026-09-15T20:56:16|2026-09-15T21:27:18|1862|gres/gpu=4|acn18|None\n"
    "5055845_1.batch|{job}.batch|batch|{state}|{code}|2026-09-15T20:56:16|2026-09-15T21:27:18|1862||acn18|\n"
)
# 2026-09-15 18:56:16 UTC
START_NS = 1_789_498_576_000_000_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The directory of a completed one-step invocation on two devices."""
    rows = [(START_NS + number * 100_000_000, 4000 + number, 28_000 + number) for number in range(51)]
    write(tmp_path, f"gpu-memory-{JOB}.csv", "".join(f"{t},{a},{b}\n" for t, a, b in rows))
    phases = "".join(f"{t},1,{'rollout' if b < 28_040 else 'weight_sync'},{a},{b}\n" for t, a, b in rows)
    write(tmp_path, f"phase-memory-{JOB}.csv", phases)
    write(tmp_path, "device-map.json", json.dumps({"GPU-aa": 0, "GPU-bb": 1}))
    write(tmp_path, f"training-{JOB}.log", f"starting\n{STEP_1}\n")
    write_trial(tmp_path)
    write(tmp_path, "allocation_accounting_sacct.psv", SACCT.format(job=JOB, state="FAILED", code="2:0"))
    write(tmp_path, "launch-ledger.jsonl", "{}\n")
    (tmp_path / "checkpoints").mkdir()
    return tmp_path


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def write_trial(folder: Path, **fields: object) -> None:
    document = {
        "job_id": JOB,
        "started_at_utc": "2026-09-15T18:56:16+00:00",
        "ended_at_utc": "2026-09-15T18:56:21Z",
        "exit_code": 0,
        "steps": 1,
    } | fields
    write(folder, f"trial-{JOB}.json", json.dumps(document))


def derive(path: Path, **options) -> DerivedOutcome:
    rule = CompletionRule()
    return derive_outcome(read_evidence(path, rule, **options), rule)


def test_a_whole_directory_leads_to_its_outcome(run: Path) -> None:
    result = derive(run)

    assert (result.outcome, result.diagnosis, result.problems) == ("completed", None, ())
    assert result.deciding is not None
    assert (result.deciding.file, result.deciding.line) == (f"training-{JOB}.log", 2)
    assert result.peak is not None
    assert result.peak.overall is not None
    assert (result.peak_mib, result.peak.overall.device, result.peak.overall.phase) == (
        28_050, "GPU-bb", "weight_sync",
    )  # fmt: skip


def test_the_invocation_s_exit_code_goes_before_the_job_s(run: Path) -> None:
    assert derive(run).exit_code == 0
    assert derive(run, exit_code=5).exit_code == 5
    (run / f"trial-{JOB}.json").unlink()
    assert derive(run).exit_code == 2


def test_packed_files_are_read_like_plain_ones(run: Path) -> None:
    plain = as_data(derive(run))
    for path in list(run.glob(f"*-{JOB}.*")):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        if path.suffix != ".json":
            path.unlink()

    packed = as_data(derive(run))
    assert (packed["outcome"], packed["peak_mib"], packed["problems"]) == ("completed", plain["peak_mib"], [])


def test_a_packed_log_that_was_cut_is_read_up_to_the_cut_and_reported(run: Path) -> None:
    log = run / f"training-{JOB}.log"
    data = "".join(f"line {number} {number * 7919}\n" for number in range(200_000)).encode()
    (run / f"training-{JOB}.log.gz").write_bytes(gzip.compress(data)[:-400_000])
    log.unlink()

    result = derive(run)
    assert result.diagnosis == "missing_completion_evidence"
    assert any("damaged or cut" in problem for problem in result.problems)
    assert result.deciding is not None
    assert (result.deciding.line or 0) > 1000


def test_a_host_kill_by_the_scheduler_s_record(run: Path) -> None:
    write(run, "allocation_accounting_sacct.psv", SACCT.format(job=JOB, state="OUT_OF_MEMORY", code="0:125"))
    write(run, f"training-{JOB}.log", "capturing graphs\nray.exceptions.ActorDiedError: The actor died\n")
    write_trial(run, exit_code=1)

    result = derive(run)
    assert (result.outcome, result.diagnosis) == ("unresolved", "host_memory")
    assert result.deciding is not None
    assert (result.deciding.file, result.deciding.line) == ("allocation_accounting_sacct.psv", 2)


def test_records_of_other_jobs_prove_nothing(run: Path) -> None:
    write(run, "allocation_accounting_sacct.psv", SACCT.format(job="77", state="OUT_OF_MEMORY", code="0:125"))
    write(run, f"training-{JOB}.log", "capturing graphs\n")
    write_trial(run, exit_code=137)

    result = derive(run)
    assert result.diagnosis == "killed_unknown_cause"
    assert result.problems == (f"allocation_accounting_sacct.psv: no row of job {JOB}",)


def test_the_kernel_log_beside_it_explains_a_kill(run: Path) -> None:
    write(run, f"training-{JOB}.log", "capturing graphs\n")
    write(run, "dmesg.txt", "[8812.1] Out of memory: Killed process 4242 (ray::WorkerDict) total-vm:4kB\n")
    write_trial(run, exit_code=137)

    result = derive(run)
    first = result.evidence[0]
    assert (result.diagnosis, first.file, first.line) == ("host_memory", "dmesg.txt", 1)


def test_another_process_on_the_device_is_contamination(run: Path) -> None:
    write_trial(run, foreign_processes=[{"uuid": "GPU-bb", "pid": 4242, "used_mib": 812}])

    result = derive(run)
    assert (result.outcome, result.diagnosis) == ("unresolved", "contamination")
    assert result.evidence[0].text == "uuid GPU-bb, pid 4242, used_mib 812"


def test_the_launcher_s_limit_is_a_timeout(run: Path) -> None:
    write(run, f"training-{JOB}.log", "still waiting\n")
    write_trial(run, exit_code=-15, timed_out=True)

    assert derive(run).diagnosis == "timeout"


def test_a_sampler_that_stopped_early_is_a_problem_and_no_verdict(run: Path) -> None:
    write_trial(run, ended_at_utc="2026-09-15T18:58:00Z")

    result = derive(run)
    assert result.outcome == "completed"
    assert any("sampler stopped 99.0 s before" in problem for problem in result.problems)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (f"trial-{JOB}.json", "{", f"trial-{JOB}.json: no JSON"),
        (f"trial-{JOB}.json", "[]", f"trial-{JOB}.json: expected an object, found list"),
        (f"environment-{JOB}.json", '{"exit_code": "x"}', "exit_code is 'x', expected a whole number"),
        (f"environment-{JOB}.json", '{"start": "noon"}', "start is 'noon', expected a time with its zone"),
        ("device-map.json", '{"a": "b"}', "device-map.json: device map is"),
        ("allocation_accounting_sacct.psv", "5|6\n", "sacct.psv line 1: 2 fields, expected 11"),
        (f"gpu-memory-{JOB}.csv", "", f"gpu-memory-{JOB}.csv: no samples"),
    ],
)
def test_what_can_not_be_read_is_reported_and_the_rest_is_used(run: Path, name, text, problem) -> None:
    write(run, name, text)

    result = derive(run, exit_code=0) if name.startswith("trial") else derive(run)
    assert any(problem in item for item in result.problems)
    assert result.peak_mib == 28_050


def test_an_uploader_s_own_diagnosis_is_shown_beside_the_derived_one(run: Path) -> None:
    write_trial(run, exit_code=1, failure_kind="cuda_oom")
    write(run, f"training-{JOB}.log", "slurmstepd: error: Detected 1 oom_kill event in StepId=5.batch.\n")

    result = derive(run)
    assert (result.diagnosis, result.claimed_kind, result.disagrees) == ("host_memory", "cuda_oom", True)
    assert "claimed: cuda_oom" in as_text(result)


def test_files_of_several_jobs_are_not_mixed(run: Path) -> None:
    write(run, "training-9.log", "KeyError: 'x'\n")

    with pytest.raises(EvidenceError, match=r"jobs is \['5055846', '9'\].*choose which"):
        read_run_directory(run)
    assert derive(run, job=JOB).outcome == "completed"


def test_uploaded_bytes_lead_to_the_same_outcome_as_the_directory(run: Path) -> None:
    files = [RunFile.of_bytes(path.name, path.read_bytes()) for path in run.iterdir() if path.is_file()]

    assert derive_outcome(collect_run(files)) == derive(run)


def test_a_directory_without_evidence_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "notes.md", "hello")

    with pytest.raises(EvidenceError, match=r"files is \['notes.md'\], expected training-JOB\.log"):
        read_run_directory(tmp_path)
    with pytest.raises(EvidenceError, match="an existing directory"):
        read_run_directory(tmp_path / "absent")


def test_the_package_needs_nothing_but_the_standard_library_numpy_and_the_linear_engine() -> None:
    import ast
    import sys

    import rlvram_site.strict_json
    import studies.evidence

    shared = Path(rlvram_site.strict_json.__file__)
    for path in [shared, *Path(studies.evidence.__file__).parent.glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name.startswith("studies.evidence") or name == "rlvram_site.strict_json"
                assert (
                    own
                    or name == "host.kinds"
                    or name.split(".")[0] in {"numpy", "re2", *sys.stdlib_module_names}
                )
