"""What programs print leads to the outcome that it proves, and to the line that proves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.evidence.completion import CompletionRule
from studies.evidence.diagnoses import Diagnosis
from studies.evidence.logs import scan_log
from studies.evidence.outcome import DerivedOutcome, RunEvidence, derive_outcome
from studies.evidence.rules import RULES
from studies.evidence.samples import sampled_peak
from tests.evidence.log_cases import CASES, LogCase

ONE_STEP = CompletionRule(steps=1)
SAMPLED = sampled_peak([("gpu-memory-1.csv", [b"100,28882\n"])])


def classify(data: bytes, exit_code: int | None = 1) -> DerivedOutcome:
    """The outcome of a log and of one sample of memory, for one required step."""
    findings = scan_log([data], "training-1.log", ONE_STEP)
    return derive_outcome(RunEvidence(logs=(findings,), exit_code=exit_code, peak=SAMPLED), ONE_STEP)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_log_leads_to_its_outcome_and_to_the_line_that_proves_it(case: LogCase) -> None:
    derived = classify(case.text.encode(), case.exit_code)

    assert (derived.outcome, derived.diagnosis) == (case.outcome, case.diagnosis)
    assert derived.deciding is not None
    assert derived.deciding.line == case.line
    if case.line is not None:
        line = case.text.split("\n")[case.line - 1]
        assert derived.deciding.text == line.strip()


def test_every_row_of_the_table_has_a_text_that_it_matches() -> None:
    matched = {
        candidate.rule
        for case in CASES
        for candidate in scan_log([case.text.encode()], "training-1.log", ONE_STEP).candidates
    }

    assert {rule.name for rule in RULES if rule.diagnosis} - matched == set()
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_no_row_is_satisfied_by_a_word_alone() -> None:
    for words in ("memory", "out of memory", "OOM", "CUDA memory", "not enough memory", "GPU full", "killed"):
        derived = classify(f"{words}\n".encode())
        assert (words, derived.diagnosis) == (words, "missing_evidence")


def test_the_documentation_names_how_many_rows_and_logs_there_are() -> None:
    documented = (Path(__file__).resolve().parents[2] / "docs" / "evidence.md").read_text(encoding="utf-8")

    assert f"The table has {len(RULES)} rows, and {len(CASES)} logs" in documented
    for word in Diagnosis:
        assert f"`{word}`" in documented
