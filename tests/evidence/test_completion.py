"""An invocation is completed by the record of its last required step and exit 0, and by nothing less."""

from __future__ import annotations

import pytest

from studies.estimation.labels import exceeds_margin
from studies.evidence.completion import CompletionRule
from studies.evidence.diagnoses import Diagnosis
from studies.evidence.errors import EvidenceError
from studies.evidence.findings import EvidenceLine
from studies.evidence.logs import scan_log
from studies.evidence.outcome import RunEvidence, derive_outcome
from studies.evidence.samples import sampled_peak
from tests.evidence.log_cases import STEP_1

STEPS = "".join(f"step:{step} - loss:0.1 - training/global_step:{step}\n" for step in range(1, 11))


def derive(log: str, rule: CompletionRule, exit_code: int | None = 0, **evidence):
    findings = scan_log([log.encode()], "training-7.log", rule)
    evidence.setdefault("peak", sampled_peak([("gpu-memory-7.csv", [b"100,28882\n"])]))
    return derive_outcome(RunEvidence(logs=(findings,), exit_code=exit_code, **evidence), rule)


@pytest.mark.parametrize(
    ("steps", "exit_code", "outcome", "diagnosis"),
    [
        (10, 0, "completed", None),
        (3, 0, "completed", None),
        (11, 0, "unresolved", "missing_completion_evidence"),
        (10, 1, "unresolved", "missing_evidence"),
        (10, None, "unresolved", "missing_evidence"),
        (10, 137, "unresolved", "killed_unknown_cause"),
    ],
)
def test_record_and_exit_code_decide_together(steps, exit_code, outcome, diagnosis) -> None:
    result = derive(STEPS, CompletionRule(steps), exit_code)

    assert (result.outcome, result.diagnosis) == (outcome, diagnosis)
    assert (result.last_step, result.required_steps) == (10, steps)


def test_a_longer_number_is_another_step() -> None:
    assert derive("step:1 - x:1 - training/global_step:10\n", CompletionRule(1)).outcome == "unresolved"
    assert derive("step:10 - x:1 - training/global_step:10\n", CompletionRule(1)).outcome == "unresolved"


@pytest.mark.parametrize("peak_mib", [38_560, 38_912, 39_842])
def test_the_nine_follow_up_invocations_stay_unresolved_whatever_was_sampled(peak_mib: int) -> None:
    """Expanded-host follow-up: nine four-GPU invocations exited with 0, had sampled peaks of 38,560 to
    39,842 MiB, and lack the record of their only step (results of the study's archive)."""
    log = "(WorkerDict pid=88) update_actor returned\n(TaskRunner pid=41) weights are synchronized\n"
    peak = sampled_peak([("gpu-memory-5055846.csv", [f"100,{peak_mib},9\n200,8,7\n".encode()])])
    result = derive(log, CompletionRule(1), 0, peak=peak)

    assert (result.outcome, result.diagnosis) == ("unresolved", "missing_completion_evidence")
    assert result.peak_mib == peak_mib
    assert result.reason == "The exit code is 0, but step 1 has no record: there is no record of any step."
    assert result.deciding is not None
    assert result.deciding.line == 2


def test_a_completed_run_on_the_margin_is_within_it() -> None:
    peak = sampled_peak([("gpu-memory-1.csv", [b"100,38912\n"])])
    result = derive(STEP_1 + "\n", CompletionRule(1), 0, peak=peak)

    assert result.outcome == "completed"
    assert result.peak_mib is not None
    assert not exceeds_margin(result.peak_mib, 38_912)


def test_the_horizon_comes_from_the_protocol_then_the_launcher_then_the_log() -> None:
    log = "(TaskRunner pid=41) Total training steps: 2\n" + STEPS

    assert derive(log, CompletionRule(4), steps=3).required_steps == 4
    assert derive(log, CompletionRule(), steps=3).required_steps == 3
    assert derive(log, CompletionRule()).required_steps == 2
    nobody = derive(STEPS, CompletionRule())
    assert (nobody.outcome, nobody.diagnosis) == ("unresolved", "missing_completion_evidence")
    assert "nobody says how many steps" in nobody.reason


def test_another_trainer_s_record_is_read_by_the_protocol_s_pattern() -> None:
    rule = CompletionRule(200, r"^\[trainer\] finished iteration (?P<step>\d+)/")

    assert derive("[trainer] finished iteration 200/200\n", rule).outcome == "completed"
    assert derive(STEPS, rule).outcome == "unresolved"


@pytest.mark.parametrize(
    ("steps", "pattern", "field"),
    [(0, r"(?P<step>\d+)", "steps"), (1, r"step (\d+)", "pattern"), (1, "(", "pattern")],
)
def test_an_unusable_rule_is_refused_with_its_field(steps: int, pattern: str, field: str) -> None:
    with pytest.raises(EvidenceError, match=f"completion rule: {field} is"):
        CompletionRule(steps, pattern)


def test_another_process_on_the_device_spoils_even_a_completed_run() -> None:
    foreign = (EvidenceLine("trial-7.json", None, "pid 4242, python, 812 MiB"),)
    result = derive(STEP_1 + "\n", CompletionRule(1), 0, contamination=foreign)

    assert (result.outcome, result.diagnosis) == ("unresolved", "contamination")
    assert result.evidence[0] == foreign[0]


def test_nothing_left_behind_is_missing_evidence() -> None:
    result = derive_outcome(RunEvidence(), CompletionRule(1))

    assert (result.outcome, result.diagnosis, result.evidence) == ("unresolved", "missing_evidence", ())
    assert result.peak_mib is None


@pytest.mark.parametrize(
    ("exit_code", "diagnosis"),
    [
        (137, "killed_unknown_cause"), (-9, "killed_unknown_cause"), (143, "killed_unknown_cause"),
        (124, "timeout"), (130, "cancelled"), (139, "runtime"), (134, "runtime"), (1, "missing_evidence"),
        (255, "missing_evidence"),
    ],
)  # fmt: skip
def test_an_exit_code_alone_says_no_more_than_it_can(exit_code: int, diagnosis: str) -> None:
    result = derive("nothing happened\n", CompletionRule(1), exit_code)

    assert (result.outcome, result.diagnosis) == ("unresolved", diagnosis)


@pytest.mark.parametrize(
    ("claimed", "disagrees"),
    [("", False), ("rollout_init_memory", False), ("kv_cache_memory", False), ("cuda_oom", True)],
)
def test_an_uploader_s_own_word_is_compared_and_never_taken(claimed: str, disagrees: bool) -> None:
    log = "ValueError: No available memory for the cache blocks. Try increasing it.\n"
    result = derive(log, CompletionRule(1), 1, claimed_kind=claimed)

    assert (result.diagnosis, result.disagrees) == ("kv_cache_memory", disagrees)


def test_only_exhaustion_of_the_device_is_an_outcome_of_gpu_memory() -> None:
    assert {str(item) for item in Diagnosis if item.is_gpu_memory} == {
        "cuda_oom", "weight_sync_oom", "rollout_init_memory", "kv_cache_memory", "cuda_library_allocation",
    }  # fmt: skip
    assert all(item.in_words for item in Diagnosis)
