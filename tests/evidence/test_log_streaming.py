"""A log of any size and any content is read in chunks, in bounded memory, and never raises."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from studies.evidence.completion import CompletionRule
from studies.evidence.logs import scan_log
from studies.evidence.outcome import RunEvidence, derive_outcome
from tests.evidence.log_cases import CASES, HEALTHY, STEP_1
from tests.evidence.test_log_texts import classify

RESTLESS = "\n".join([*(case.text.rstrip("\n") for case in CASES), STEP_1]).encode()
HARMLESS = [line for line in HEALTHY if "Total training steps" not in line]


@settings(max_examples=30)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=40), st.sampled_from(["utf-8", "utf-16"]))
def test_chunks_of_any_size_give_the_same_findings(sizes: list[int], encoding: str) -> None:
    data = (RESTLESS + b"\r50%\r" + b"z" * 70_000 + b"\r" + RESTLESS).decode().encode(encoding)
    chunks, position = [], 0
    while position < len(data):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(data[position : position + size])
        position += size

    assert scan_log(chunks, "a.log") == scan_log([data], "a.log")


@settings(max_examples=150)
@given(st.sampled_from(CASES), st.lists(st.tuples(st.floats(0, 1), st.sampled_from(HARMLESS)), max_size=12))
def test_harmless_lines_anywhere_change_no_diagnosis(case, insertions) -> None:
    plain = classify(case.text.encode(), case.exit_code)
    lines = case.text.split("\n")
    for place, line in insertions:
        lines.insert(int(place * (len(lines) - 1)), line)
    derived = classify("\n".join(lines).encode(), case.exit_code)

    assert (derived.outcome, derived.diagnosis) == (plain.outcome, plain.diagnosis)
    if "missing" not in str(case.diagnosis):
        assert derived.deciding is not None
        assert plain.deciding is not None
        assert derived.deciding.text == plain.deciding.text
        if derived.deciding.line is not None:
            assert lines[derived.deciding.line - 1].strip() == derived.deciding.text


@settings(max_examples=200)
@given(st.lists(st.one_of(st.binary(max_size=300), st.sampled_from(RESTLESS.split(b"\n"))), max_size=20))
def test_any_bytes_lead_to_an_outcome(pieces: list[bytes]) -> None:
    derived = derive_outcome(RunEvidence(logs=(scan_log(pieces, "a.log"),), exit_code=1), CompletionRule(1))

    assert derived.outcome in ("memory_failure", "unresolved")


def test_memory_does_not_grow_with_the_log() -> None:
    block = b"".join(line.encode() + b"\n" for line in HEALTHY) * 40 + RESTLESS + b"\n"

    def blocks(count: int):
        for number in range(count):
            yield block.replace(b"pid=88", b"pid=%d" % number)

    def peak(count: int) -> int:
        tracemalloc.start()
        findings = scan_log(blocks(count), "a.log")
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert findings.byte_count > count * len(block) * 0.9
        return used

    small, large = peak(5), peak(100)

    assert large < small + 2_000_000


def test_the_end_of_a_log_is_kept() -> None:
    findings = scan_log([b"".join(b"line %d\n" % number for number in range(1, 1001))], "a.log")

    assert findings.line_count == 1000
    assert findings.tail[-1] == (1000, "line 1000")
