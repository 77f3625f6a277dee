"""Comparing two trees finds every difference and measures the numerical ones."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.compare import compare

leaves = st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(-1e6, 1e6) | st.text(max_size=5)
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(trees)
def test_a_tree_agrees_with_itself(tree):
    result = compare(tree, tree)
    assert not result.mismatches
    assert result.largest_deviation == 0
    assert result.largest_deviation_path is None


@given(st.floats(-1e6, 1e6), st.floats(-0.99, 0.99))
def test_numbers_inside_the_tolerance_agree(value, share):
    assert compare([value], [value + share * (1e-6 + 1e-9 * abs(value)) * 0.999]).passed


@given(st.floats(-1e6, 1e6), st.sampled_from([-1, 1]), st.floats(1.01, 1e3))
def test_numbers_outside_the_tolerance_are_named(value, sign, times):
    result = compare({"x": value}, {"x": value + sign * times * (1e-6 + 1e-9 * abs(value))})
    assert [item.path for item in result.mismatches] == ["$.x"]
    assert result.largest_deviation_path == "$.x"


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("within_margin", "above_margin"),
        (3, 4),
        (None, 0),
        (0, None),
        (None, 0.0),
        (True, 1),
        (0, False),
        ("1", 1),
        ([], {}),
        ({}, None),
        (math.nan, math.nan),
        (1.0, math.inf),
        (10**17, 10**17 + 1),
        (10**400, 1.5),
        (math.inf, math.inf),
        (math.inf, 1.0),
    ],
)
def test_things_that_never_agree(expected, found):
    assert not compare([expected], [found]).passed


def test_a_whole_number_and_a_float_of_the_same_value_agree():
    assert compare([1, 2.0], [1.0, 2]).passed


def test_every_difference_is_reported_by_its_path():
    result = compare(
        {"a": {"b": [1, 2, 3]}, "gone": 1, "same": "x"},
        {"a": {"b": [1, 5]}, "new": 2, "same": "x"},
    )
    assert [str(item) for item in result.mismatches] == [
        "$.a.b: another length; expected 3, found 2",
        "$.a.b[1]: deviates by 3; expected 2, found 5",
        "$.gone: missing; expected 1, found None",
        "$.new: not expected; expected None, found 2",
    ]


def test_the_largest_deviation_is_kept_even_when_it_is_covered():
    result = compare({"a": 1.0, "b": [100.0]}, {"a": 1.0 + 1e-9, "b": [100.0 + 5e-7]})
    assert result.passed
    assert result.largest_deviation == pytest.approx(5e-7)
    assert result.largest_deviation_path == "$.b[0]"


def test_ignored_keys_are_left_out_wherever_they_stand():
    assert compare({"a": [{"note": "x", "n": 1}]}, {"a": [{"n": 1}], "note": "y"}, ignore=["note"]).passed


def test_comparing_nothing_is_not_agreement():
    assert not compare({}, {}).passed
    assert not compare({"note": 1}, {"note": 1}, ignore=["note"]).passed


def test_tolerance_can_be_set():
    assert not compare([1.0], [1.1]).passed
    assert compare([1.0], [1.1], atol=0.2).passed
