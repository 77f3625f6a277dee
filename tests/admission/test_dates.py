"""Times keep the precision that was given and sort by it."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.dates import Precision, at_instant, find, on_day, parse, parse_instant

REFERENCE = dt.date(2026, 9, 25)
DAYS = st.dates(dt.date(1971, 1, 1), dt.date(8999, 12, 31))


@pytest.mark.parametrize(
    ("words", "precision", "sort_at"),
    [
        ("2026-09-18", "day", "2026-09-18T12:00:00+00:00"),
        ("September 18, 2026", "day", "2026-09-18T12:00:00+00:00"),
        ("18 Sept 2026", "day", "2026-09-18T12:00:00+00:00"),
        ("September 18", "day", "2026-09-18T12:00:00+00:00"),
        ("December 3", "day", "2025-12-03T12:00:00+00:00"),
        ("2026-09-18 14:03 UTC", "minute", "2026-09-18T14:03:30+00:00"),
        ("2026-09-18T14:03:11Z", "instant", "2026-09-18T14:03:11+00:00"),
        ("2026-09-18 14:03:11+02:00", "instant", "2026-09-18T12:03:11+00:00"),
        ("September 21, 2026, 6:35 AM Mountain", "minute", "2026-09-21T12:35:30+00:00"),
        ("January 21, 2026, 6:35 AM Mountain", "minute", "2026-01-21T13:35:30+00:00"),
        ("September 18, 2026, late evening Mountain", "part_of_day", "2026-09-19T04:30:00+00:00"),
        ("September 18, 2026 morning", "day", "2026-09-18T12:00:00+00:00"),
    ],
)
def test_a_time_as_people_write_it(words, precision, sort_at):
    stated = parse(words, REFERENCE)
    assert (stated.precision, stated.words) == (precision, words)
    assert stated.sort_at == dt.datetime.fromisoformat(sort_at)


def test_late_evening_in_the_mountains_sorts_between_its_day_and_the_next():
    evening = parse("September 18, 2026, late evening Mountain", REFERENCE)
    assert parse("September 18, 2026", REFERENCE).sort_at < evening.sort_at
    assert evening.sort_at < parse("September 19, 2026", REFERENCE).sort_at
    assert evening.day == dt.date(2026, 9, 18)


@pytest.mark.parametrize(
    "words", ["", "soon", "February 30, 2026", "03/04/2026", "2026-13-01", "25:00", "2026-09-18 or so"]
)
def test_what_is_no_time_is_refused_with_an_example(words):
    with pytest.raises(ValueError, match="write for example 2026-09-18"):
        parse(words, REFERENCE)


@pytest.mark.parametrize("text", ["2026-09-07", "2026-09-07T14:03:11", "0001-01-01T00:00:00Z", "x"])
def test_an_instant_needs_its_zone(text):
    with pytest.raises(ValueError, match="is not a time such as"):
        parse_instant(text)


@given(DAYS, DAYS)
def test_days_sort_as_days_do(one, other):
    assert (on_day(one).sort_at < on_day(other).sort_at) == (one < other)


@given(DAYS, st.times())
def test_an_instant_lies_within_its_day(day, time):
    stated = at_instant(dt.datetime.combine(day, time, dt.UTC))
    assert stated.precision is Precision.INSTANT
    assert on_day(day).earliest <= stated.sort_at < on_day(day).latest


@given(st.text(max_size=200))
def test_any_text_has_a_time_or_none(text):
    found = find(text, REFERENCE)
    if found is not None:
        stated, start, end = found
        assert stated.words == text[start:end]
        assert stated.earliest <= stated.sort_at <= stated.latest
