"""One reader for all JSON from outside: what it takes, what it refuses, and how it says so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlvram_site.strict_json import JsonError, read_json, read_json_values

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_json_writes_is_read_back(value):
    assert read_json(json.dumps(value)) == value


@given(st.lists(JSON, max_size=4))
def test_values_one_behind_the_other_are_read_in_order(values):
    assert list(read_json_values(" \n".join(map(json.dumps, values)), "file")) == values


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "plan.json line 1 column 1: not JSON"),
        ('{"a": 1,\n "b"}', "plan.json line 2 column 5: not JSON"),
        ("[1]\n [2]", "plan.json line 2 column 2: something behind the value, expected one JSON value"),
        ('{"a": {"b": 1, "b": 1}}', "plan.json: key 'b' stands twice in one object, expected once"),
        ("[NaN]", "plan.json: NaN is not a number, expected a finite number or null"),
        ("-Infinity", "plan.json: -Infinity is not a number"),
        ("[1e999]", "plan.json: 1e999 is too large, expected a finite number or null"),
        ("1" * 5000, "plan.json: a number of 5000 digits, expected at most 300"),
        (
            "[" * 101 + "]" * 101,
            "plan.json: objects and lists nested too deeply, expected at most 100 levels",
        ),
        ("[" * 100_000, "plan.json: objects and lists nested too deeply"),
        (b'{"a": "\xff"}', "plan.json byte 7: no UTF-8, expected UTF-8 text"),
        (" " * 2001, "plan.json: 2,001 characters, expected at most 2,000"),
    ],
)
def test_what_two_programs_might_read_differently_is_refused(content, message):
    with pytest.raises(JsonError) as refusal:
        read_json(content, "plan.json", max_bytes=100_000 if len(content) > 2001 else 2000)
    assert str(refusal.value).startswith(message)


def test_a_byte_order_mark_and_white_space_are_no_matter():
    assert read_json(b"\xef\xbb\xbf {} \n") == {}
    assert read_json("\ufeff[]") == []
