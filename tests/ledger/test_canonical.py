"""A recorded value digests alike before it is written and after it is read, on each engine."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal

from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rlvram_site.ledger.canonical import canonical_json, digest
from rlvram_site.ledger.verify import verify_streams
from studies.models import Event
from tests.factories import make_study

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
numbers = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
with_a_database = settings(
    max_examples=150,
    suppress_health_check=[*settings.default.suppress_health_check, HealthCheck.function_scoped_fixture],
)


@with_a_database
@given(
    facts=values, seconds=st.none() | st.floats(allow_nan=False, allow_infinity=False), title=text, note=text
)
@example(facts=1e23, seconds=1e300, title="é", note="e\u0301")  # a whole float that is not its exact integer
@example(facts=[-0.0, 0.0, 5e-324, 1.7976931348623157e308], seconds=-0.0, title="", note="")
@example(facts={"b": 1, "a": {"\U0001f600": [1, 1.0, 1.5]}}, seconds=0.1, title="\u202e", note="\r\n\t\x01")
@example(facts=2**53 + 1, seconds=float(2**53), title='"', note="\\u0000")
@example(facts=[], seconds=None, title=" x ", note="\x7f")
def test_a_row_digests_alike_before_and_after_the_database(db, facts, seconds, title, note):
    with transaction.atomic():
        study = make_study()
        event = Event(
            study=study, position=0, kind="x", status="noted", title=title, detail=note,
            facts={"value": facts}, gpu_seconds=seconds,
        )  # fmt: skip
        event.save()
        written = digest(event.ledger_payload())
        assert digest(Event.objects.get().ledger_payload()) == written
        assert [report.problem for report in verify_streams(study.stream)] == [""]
        transaction.set_rollback(True)


@given(values)
def test_canonical_json_says_the_same_as_the_value(value):
    assert json.loads(canonical_json(value)) == json.loads(json.dumps(value), parse_float=_as_written)


def _as_written(number: str) -> float | int:
    return int(Decimal(number)) if float(number).is_integer() else float(number)


@given(st.dictionaries(text, values, min_size=2, max_size=6))
def test_the_order_of_keys_does_not_matter(value):
    assert digest(dict(reversed(value.items()))) == digest(value)


@given(values, values)
def test_different_values_have_different_digests(left, right):
    assert (digest(left) == digest(right)) == (canonical_json(left) == canonical_json(right))


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer()))
def test_no_digit_of_a_fraction_is_lost(value):
    neighbour = math.nextafter(value, math.inf)
    assert digest(value) != digest(neighbour)


@given(st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2100, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_a_time_digests_alike_in_every_zone(moment, minutes):
    moment = moment.replace(tzinfo=dt.UTC)
    elsewhere = moment.astimezone(dt.timezone(dt.timedelta(minutes=minutes)))
    assert digest(elsewhere) == digest(moment)
