"""Predictions that break a rule: every rule is named, with how often and by what."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.labels import Label
from studies.transfer.submission import MAX_BYTES, SubmissionError, SubmittedRow, check, parse_rows
from tests.transfer.worlds import csv_file, predicted, small_suite, suites

GOOD = [
    ("q-a0", "within_margin"),
    ("q-a1", "memory_failure"),
    ("q-b0", "above_margin"),
    ("q-b1", "within_margin"),
]


def problems(rows, selection="model_transfer") -> dict[str, tuple[int, tuple[str, ...]]]:
    with pytest.raises(SubmissionError) as caught:
        check(small_suite(), [SubmittedRow(*row) for row in rows], selection)
    return {problem.rule: (problem.count, problem.offenders) for problem in caught.value.problems}


def unreadable(content: bytes) -> str:
    with pytest.raises(SubmissionError) as caught:
        parse_rows(content)
    return str(caught.value)


def test_a_whole_submission_is_taken():
    labels = check(small_suite(), parse_rows(csv_file(GOOD)), "model_transfer")
    assert labels == {query: Label(state) for query, state in GOOD}


def test_a_missing_query():
    assert problems(GOOD[1:]) == {"missing": (1, ("q-a0",))}


def test_a_query_given_twice_even_with_the_same_answer():
    assert problems([*GOOD, GOOD[0]]) == {"duplicate": (1, ("q-a0",))}


def test_a_query_that_does_not_exist():
    assert problems([*GOOD, ("q-z", "within_margin")]) == {"unexpected": (1, ("q-z",))}


def test_a_query_of_another_track():
    assert problems([*GOOD, ("q-h0", "within_margin")]) == {"wrong_track": (1, ("q-h0",))}


@pytest.mark.parametrize("state", ["unresolved", "", "Within_margin", " within_margin", "1"])
def test_a_state_that_is_none_of_the_three(state):
    assert problems([("q-a0", state), *GOOD[1:]]) == {"invalid_state": (1, (f"q-a0 {state!r}",))}


def test_every_broken_rule_is_named_at_once_with_the_first_offenders():
    rows = [
        ("q-a0", "maybe"),
        ("q-a0", "maybe"),
        ("q-h0", "within_margin"),
        *((f"x{n}", "no") for n in range(9)),
    ]
    found = problems(rows)
    assert found["missing"] == (3, ("q-a1", "q-b0", "q-b1"))
    assert found["duplicate"] == (1, ("q-a0",))
    assert found["wrong_track"] == (1, ("q-h0",))
    assert found["unexpected"] == (9, ("x0", "x1", "x2", "x3", "x4"))
    assert found["invalid_state"][0] == 11


def test_a_problem_says_how_many_more_there_are():
    with pytest.raises(
        SubmissionError, match=r"unexpected: 9 \(x0, x1, x2, x3, x4 and 4 more\); expected ids of"
    ):
        check(
            small_suite(),
            [SubmittedRow(*row) for row in GOOD] + [SubmittedRow(f"x{n}", "within_margin") for n in range(9)],
            "model_transfer",
        )


def test_all_needs_every_track():
    assert problems(GOOD, "all") == {"missing": (1, ("q-h0",))}


@pytest.mark.parametrize(
    "content",
    [
        csv_file(GOOD, end="\r\n", mark="\ufeff"),
        csv_file(GOOD) + b"\n\n",
        b"predicted_state,query_id\n" + "".join(f"{state},{query}\n" for query, state in GOOD).encode(),
        json.dumps([{"query_id": query, "predicted_state": state} for query, state in GOOD]).encode(),
        json.dumps({"predictions": [{"predicted_state": s, "query_id": q} for q, s in GOOD]}).encode(
            "utf-8-sig"
        ),
    ],
    ids=["spreadsheet", "empty lines", "columns swapped", "json", "json object"],
)
def test_forms_that_mean_the_same(content):
    assert sorted((row.query_id, row.predicted_state) for row in parse_rows(content)) == sorted(GOOD)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "nothing was sent"),
        (b"\xff\xfe", "byte 0.* expected UTF-8 text"),
        (b"query,state\n", "columns query,state.* expected the columns query_id,predicted_state only"),
        (b"query_id,predicted_state,peak\n", "expected the columns query_id,predicted_state only"),
        (b"query_id,predicted_state\nq-a0\n", "line 2.* expected two cells in each row"),
        (b'query_id,predicted_state\n"q-a0\n', "line 2.* expected comma-separated values"),
        (b"[1, 2]", "2 .item 0, item 1.* expected an object with the texts"),
        (b'[{"query_id": "q", "predicted_state": 3}]', "expected an object with the texts"),
        (b'{"query_id": "q"}', "keys query_id.* expected a list, or an object with predictions only"),
        (b"[{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"x" * (MAX_BYTES + 1), "expected at most 1,048,576 bytes"),
    ],
)
def test_files_that_cannot_be_read(content, message):

    assert re.search(message, unreadable(content))


@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_noise_ends_in_a_named_problem(content):
    with pytest.raises(SubmissionError) as caught:
        check(small_suite(), parse_rows(content), "all")
    assert caught.value.problems
    str(caught.value).encode()


@given(suite=suites(), data=st.data())
def test_a_submission_with_one_row_for_each_query_is_always_taken(suite, data):
    labels = data.draw(predicted(suite))
    rows = data.draw(st.permutations([SubmittedRow(query, label.value) for query, label in labels.items()]))
    assert check(suite, rows, "all") == labels


@given(suite=suites(), data=st.data())
def test_leaving_any_row_out_is_always_named(suite, data):
    labels = data.draw(predicted(suite))
    left_out = data.draw(st.sampled_from(sorted(labels)))
    rows = [SubmittedRow(query, label.value) for query, label in labels.items() if query != left_out]
    with pytest.raises(SubmissionError) as caught:
        check(suite, rows, "all")
    assert [(p.rule, p.offenders) for p in caught.value.problems] == [("missing", (left_out,))]
