"""Whatever stands in a log, the work of reading it grows with its size and not faster.

Work is counted, not timed: the bytes that the linear engine passes over, and how often it is asked.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import re._constants as kinds
import re._parser as parser
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

import studies.evidence
from studies.evidence.completion import STUDY_STEP_PATTERN, CompletionRule
from studies.evidence.errors import EvidenceError
from studies.evidence.logs import scan_log
from studies.evidence.patterns import LONGEST_PATTERN
from studies.evidence.reading import GATE, read_piece
from studies.evidence.rules import RULES
from tests.evidence.log_cases import CASES, STEP_1
from tests.evidence.test_log_texts import classify

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity"


@dataclass
class Work:
    """What the engine was asked to do."""

    searches: int = 0
    passed_bytes: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counted = Work()
    plain = re2._Regexp.search

    def search(self, text, pos=None, endpos=None):
        found = plain(self, text, pos, endpos)
        start, end = pos or 0, len(text) if endpos is None else endpos
        counted.searches += 1
        counted.passed_bytes += (found.end() if found else end) - start
        return found

    monkeypatch.setattr(re2._Regexp, "search", search)
    return counted


def hostile_texts(rule) -> Iterator[tuple[str, str]]:
    """Beginnings of a text that can be repeated for ever, made from the rule itself."""
    cases = [case for case in CASES if rule.name in _rules_of(case)]
    message = cases[0].text.split("\n")[(cases[0].line or 1) - 1] if cases else rule.keys[0]
    key = rule.keys[0]
    yield "its key again and again", f"{key} "
    yield "its keys without an end", key[:-1] + "\x01"
    yield "its key and blanks", key + " " * 200
    yield "its message cut before its end", message[: max(len(key), len(message) * 2 // 3)]
    yield "its message, line by line", f"{message}\n"
    yield "nearly its message, line by line", f"{message[:-6]}\n"


def _rules_of(case) -> set[str]:
    if case.name not in _FOUND:
        candidates = scan_log([case.text.encode()], "a.log").candidates
        _FOUND[case.name] = {item.rule for item in candidates}
    return _FOUND[case.name]


_FOUND: dict[str, set[str]] = {}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_hostile_lines_made_from_a_rule_cost_what_their_size_costs(rule, work: Work) -> None:
    for name, beginning in hostile_texts(rule):
        costs = []
        for size in (8_000, 32_000):
            data = ("error" + beginning * (size // len(beginning) + 1)).encode()[:size]
            work.searches = work.passed_bytes = 0
            scan_log([data], "a.log", CompletionRule(5))
            costs.append((work.searches, work.passed_bytes))
        (few, small), (many, large) = costs
        assert large <= 4.5 * small + 40_000, (name, costs)
        assert many <= 4.5 * few + 60, (name, costs)


@pytest.mark.parametrize(
    "beginning",
    ["step:1 - ", "step:1 - training/global_step:2 ", "training/global_step:1", "error" + " " * 4000, "[",
     "(", "(pid=", "\x1b[", "\x1b]0;", "\x1b[1;", "[1;", "[response] ", "```\n", "\r", "\n", "[rank1]: ",
     "['", "# "],
)  # fmt: skip
def test_hostile_lines_made_from_the_frame_of_a_log_cost_what_their_size_costs(
    beginning: str, work: Work
) -> None:
    costs = []
    for size in (20_000, 80_000):
        work.searches = work.passed_bytes = 0
        scan_log([(beginning * (size // len(beginning) + 1)).encode()[:size]], "a.log", CompletionRule(5))
        costs.append(work.passed_bytes)
    assert costs[1] <= 4.5 * costs[0] + 40_000


def test_a_piece_is_asked_each_question_at_most_once(work: Work) -> None:
    """However many keys stand in a line, the number of searches is that of the patterns, not of the keys."""
    keys = {rule.name: " ".join(rule.keys) for rule in RULES}
    while (matched := read_piece(" ".join(keys.values()).encode()).rule) is not None:
        del keys[matched.name]
    everything = " ".join(keys.values())
    counts = []
    for repeats in (1, 20):
        work.searches = 0
        read_piece((f"{everything} " * repeats).encode())
        counts.append(work.searches)

    assert len(keys) <= counts[0]
    assert max(counts) <= 2 * len(RULES) + 20


def test_every_rule_runs_in_the_linear_engine() -> None:
    for rule in RULES:
        assert isinstance(rule.pattern, re2._Regexp)
        assert rule.unless is None or isinstance(rule.unless, re2._Regexp)


def test_python_s_own_patterns_can_not_go_back_in_the_text() -> None:
    """Each repetition in them is possessive, or bounded by a small number."""
    found = {
        f"{module.name}.{name}": value
        for module in pkgutil.iter_modules(studies.evidence.__path__)
        for name, value in vars(importlib.import_module(f"studies.evidence.{module.name}")).items()
        if isinstance(value, re.Pattern)
    }
    assert found
    for name, pattern in found.items():
        for most in _greedy(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)):
            assert most <= 60, name


def _greedy(tree) -> Iterator[int]:
    """How often each repetition of a pattern that can give back may repeat."""
    for kind, value in tree:
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT):
            yield int(value[1])
        for part in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(part, parser.SubPattern):
                yield from _greedy(part)
            elif isinstance(part, list):
                for inner in part:
                    if isinstance(inner, parser.SubPattern):
                        yield from _greedy(inner)


def test_the_gate_lets_every_message_through() -> None:
    """A piece is read only where the gate is found, so it must be found in whatever a rule matches."""
    for case in CASES:
        for line in case.text.encode().split(b"\n"):
            if read_piece(line).rule is not None:
                assert GATE.search(line) is not None, line


# ---- patterns from outside --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?P<step>\d+) and (?P=step)",
        r"(?P<step>\d+)(?!x)",
        r"(?<=a)(?P<step>\d+)",
        r"(?P<step>\d+)" + "x" * LONGEST_PATTERN,
        r"(?P<step>(?:(?:\d{1,900}){1,900}){1,900})",
        r"(?P<step>(?:\pL{900}){3})",
        r"(?P<step>\d*)",
        r"step (\d+)",
        "(",
    ],
)
def test_a_pattern_that_could_cost_more_is_refused(pattern: str) -> None:
    with pytest.raises(EvidenceError, match="completion rule: pattern is"):
        CompletionRule(1, pattern)


@pytest.mark.parametrize(
    "pattern", [r"(?:x+x+)+y(?P<step>\d+)", r"(?:a|aa)+$(?P<step>\d+)", r"^(?:\s*\S*)*z(?P<step>\d+)$"]
)
def test_a_pattern_that_would_go_back_for_ever_elsewhere_does_not_here(pattern: str, work: Work) -> None:
    rule = CompletionRule(1, pattern)
    costs = []
    for size in (10_000, 40_000):
        work.passed_bytes = 0
        scan_log([b"x" * size + b"a" * size + b" \n"], "a.log", rule)
        costs.append(work.passed_bytes)
    assert costs[1] <= 4.5 * costs[0] + 40_000


@pytest.mark.parametrize(
    ("pattern", "log"),
    [
        (r"^epoch done: (?P<step>\d+)$", "epoch done: 3\n"),
        (r"finished (?P<step>\d+) of (?P<step_again>\d+)", "finished 3 of 5\nfinished 3 of 3\n"),
        (r"étape (?P<step>\d+)", "étape 3\n"),
        (r"done (?P<step>\d+)", "\x1b[32m(T pid=4)\x1b[0m  9%|#|\rdone 3\r\n"),
    ],
)
def test_another_trainer_s_record_is_found_line_by_line(pattern: str, log: str) -> None:
    findings = scan_log([f"x\n{log}y\n".encode()], "a.log", CompletionRule(3, pattern))

    assert list(findings.steps) == [3]


RECORD_PARTS = (
    "step:",
    "1",
    "2",
    "10",
    " - ",
    " -  ",
    "x",
    "training/global_step:",
    ".0",
    ".00",
    ".5",
    ".",
    " ",
    "_",
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(RECORD_PARTS), max_size=14).map("".join))
def test_the_study_s_record_is_found_by_plain_search_as_by_its_pattern(text: str) -> None:
    pattern = re.compile(
        STUDY_STEP_PATTERN.replace("(?P<step_again>\\d+)", "(?P=step)").replace("(?:[^\\d.]|$)", "(?![\\d.])")
    )
    match = pattern.search(text)

    found = CompletionRule(1).step_in(text.encode())
    if match is None:
        assert found is None
    elif text.count("training/global_step:") <= 4:
        assert found is not None


# ---- floods -----------------------------------------------------------------------------------------------


def flood(count: int) -> list[str]:
    return [f"ValueError: value {number} is not allowed here" for number in range(count)]


def test_a_cause_before_within_and_behind_a_flood_of_messages_is_found() -> None:
    for place in (0, 5_000, 10_000):
        lines = flood(10_000)
        lines.insert(place, OOM)
        derived = classify("\n".join(lines).encode())
        assert (derived.diagnosis, derived.deciding and derived.deciding.line) == ("cuda_oom", place + 1)


def test_a_record_within_a_flood_completes_and_the_flood_is_reported() -> None:
    lines = flood(10_000)
    lines.insert(7_777, STEP_1)
    derived = classify("\n".join(lines).encode(), 0)

    assert derived.outcome == "completed"
    assert any("messages follow so closely" in problem for problem in derived.problems)


@pytest.mark.parametrize("pattern", [STUDY_STEP_PATTERN, r"done (?P<step>\d+)$"])
def test_of_a_hundred_thousand_records_the_required_one_is_kept(pattern: str) -> None:
    form = "step:{0} - x:1 - training/global_step:{0}\n" if pattern == STUDY_STEP_PATTERN else "done {0}\n"
    log = "".join(form.format(number) for number in range(1, 30_001)).encode()
    findings = scan_log([log], "a.log", CompletionRule(17, pattern))

    assert findings.steps[17].line == 17
    assert max(findings.steps) == 30_000
    assert len(findings.steps) <= 1_001


def test_a_record_longer_than_a_window_is_read_by_its_two_ends_and_reported() -> None:
    record = "step:1 - " + "metric:0.1 - " * 20_000 + "training/global_step:1\n"
    for log in (record, "before\n" + record + "after\n", "x:1\r" + record):
        for size in (1 << 20, 10_000):
            data = log.encode()
            chunks = [data[start : start + size] for start in range(0, len(data), size)]
            assert list(scan_log(chunks, "a.log", CompletionRule(1)).steps) == [1]
    derived = classify((record + OOM + " " + "y" * 200_000).encode())
    assert any("longer than 64 KiB" in problem for problem in derived.problems)
