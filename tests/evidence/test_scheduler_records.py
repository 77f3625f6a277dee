"""Slurm's accounting lines are read with and without their header, and prove what ended a job."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.evidence.completion import CompletionRule
from studies.evidence.logs import scan_log
from studies.evidence.outcome import RunEvidence, derive_outcome
from studies.evidence.samples import sampled_peak
from studies.evidence.scheduler import parse_sacct

HEADER = "JobID|JobIDRaw|JobName|State|ExitCode|Start|End|ElapsedRaw|AllocTRES|NodeList|Reason"
JOB = (
    "5054951_4|5054954|est|{state}|{code}|2026-09-15T17:48:51|2026-09-15T17:57:33|522|"
    "billing=64,cpu=64,gres/gpu=4,mem=192G,node=1|acn18|None"
)
BATCH = "5054951_4.batch|5054954.batch|batch|{state}|{code}|2026-09-15T17:48:51|Unknown|522|cpu=64|acn18|"


def derived(state: str, code: str, log: str = "", exit_code: int | None = 1):
    rows, problems = parse_sacct(
        [JOB.format(state=state, code=code), BATCH.format(state=state, code=code)], "sacct.psv"
    )
    assert problems == ()
    findings = scan_log([log.encode()], "training.log", CompletionRule(1))
    evidence = RunEvidence(
        logs=(findings,),
        peak=sampled_peak([("gpu-memory-1.csv", [b"100,28882\n"])]),
        exit_code=exit_code,
        scheduler=rows,
        scheduler_file="sacct.psv",
    )
    return derive_outcome(evidence, CompletionRule(1))


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["", "|"])
def test_rows_of_a_job_and_its_steps_are_read(header: bool, end: str) -> None:
    lines = [HEADER + end] if header else []
    lines.append(JOB.format(state="CANCELLED by 7547", code="0:15") + end)
    lines.append(BATCH.format(state="CANCELLED", code="0:15") + end)
    (job, batch), problems = parse_sacct(lines, "sacct.psv", UTC)

    assert problems == ()
    assert (job.job_id, job.raw_id, job.step) == ("5054951_4", "5054954", "")
    assert (job.state, job.cancelled_by, job.exit_code, job.signal) == ("CANCELLED", "7547", 0, 15)
    assert job.start == datetime(2026, 9, 15, 17, 48, 51, tzinfo=UTC)
    assert (job.elapsed_seconds, job.nodes) == (522, "acn18")
    assert (batch.step, batch.end) == ("batch", None)
    for row in (job, batch):
        assert all(row.belongs_to(name) for name in ("5054954", "5054951_4", "5054951"))
        assert not row.belongs_to("1")


def test_without_a_zone_times_stay_without_one() -> None:
    (job,), _ = parse_sacct([JOB.format(state="COMPLETED", code="0:0")], "sacct.psv")

    assert job.start == datetime(2026, 9, 15, 17, 48, 51)


def test_another_selection_of_fields_is_read_by_its_header() -> None:
    (job,), problems = parse_sacct(["\ufeffJobID|State|ExitCode\r", "77|TIMEOUT|0:0\r"], "sacct.psv")

    assert (job.job_id, job.state, job.raw_id, problems) == ("77", "TIMEOUT", "", ())


def test_a_line_with_another_number_of_fields_is_named() -> None:
    rows, problems = parse_sacct(["77|x"], "sacct.psv")

    assert rows == ()
    assert problems[0].startswith("sacct.psv line 1: 2 fields, expected 11")


@pytest.mark.parametrize(
    ("state", "code", "diagnosis"),
    [
        ("OUT_OF_MEMORY", "0:125", "host_memory"),
        ("TIMEOUT", "0:0", "timeout"),
        ("NODE_FAIL", "1:0", "environment"),
        ("CANCELLED by 7547", "0:0", "cancelled"),
        ("PREEMPTED", "0:0", "preempted"),
        ("FAILED", "1:0", "vllm_executor_failure"),
    ],
)
def test_the_scheduler_s_record_explains_a_lost_executor(state: str, code: str, diagnosis: str) -> None:
    """In the study's original panel seven lost executors were host kills by the scheduler's own record."""
    result = derived(state, code, "RuntimeError: Engine core initialization failed. See root cause above.\n")

    assert (result.outcome, result.diagnosis) == ("unresolved", diagnosis)
    assert result.deciding is not None
    if diagnosis != "vllm_executor_failure":
        assert (result.deciding.file, result.deciding.line) == ("sacct.psv", 1)
        assert [item.diagnosis for item in result.others] == ["vllm_executor_failure"]


def test_a_host_kill_of_the_job_does_not_undo_an_earlier_refusal_in_the_log() -> None:
    """Two invocations share one job: the host kill can belong to the other one."""
    log = (
        "ValueError: Free memory on device (11.52/39.39 GiB) on startup is less than desired GPU memory"
        " utilization (0.35, 13.79 GiB). Decrease GPU memory utilization or reduce GPU memory used by other"
        " processes.\n"
    )
    result = derived("OUT_OF_MEMORY", "0:125", log)

    assert (result.outcome, result.diagnosis) == ("memory_failure", "rollout_init_memory")
    assert [item.diagnosis for item in result.others] == ["host_memory"]


def test_the_job_s_state_does_not_undo_a_completed_invocation() -> None:
    record = "step:1 - x:1 - training/global_step:1\n"
    assert derived("FAILED", "2:0", record, 0).outcome == "completed"
    assert derived("OUT_OF_MEMORY", "0:125", record, 0).outcome == "completed"


@settings(max_examples=200)
@given(st.lists(st.one_of(st.text(max_size=80), st.text("|JobIDRaw.0123_", max_size=60)), max_size=8))
def test_any_text_is_read_without_an_error(lines: list[str]) -> None:
    rows, problems = parse_sacct(lines, "sacct.psv")

    assert len(rows) + len(problems) <= len(lines)
