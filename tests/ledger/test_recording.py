"""What is checked before a row is recorded, since nobody can correct it afterwards."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.exceptions import ValidationError

from rlvram_site.ledger.chain import acting, head, record_all
from rlvram_site.ledger.models import AppendOnlyError, LedgerEntry
from studies.models import Event, Pool, Prediction, Study
from studies.models.base import Label
from tests.factories import (
    make_configuration,
    make_pool,
    make_prediction_set,
    make_study,
)


def _event(study, position=0, **fields) -> Event:
    return Event(
        study=study, position=position, kind="preflight", status="failed", title="Preflight", **fields
    )


def test_several_rows_are_recorded_together_or_not_at_all(db):
    study = make_study()
    before = head(study.stream)
    with pytest.raises(ValidationError, match="is not a valid choice"):
        record_all(
            [_event(study), _event(study, 1), Event(study=study, position=2, kind="x", status="?", title="x")]
        )
    assert Event.objects.count() == 0
    assert head(study.stream) == before


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"title": "x" * 201}, "title", "at most 200 characters"),
        ({"kind": None}, "kind", "a value is needed"),
        ({"position": "first"}, "position", "must be an integer"),
        ({"position": -1}, "position", "greater than or equal to 0"),
        ({"status": "exploded"}, "status", "'exploded' is not a valid choice"),
        ({"started_at": "yesterday"}, "started_at", "invalid format"),
    ],
)
def test_a_wrong_value_is_refused_by_field(db, fields, field, message):
    with pytest.raises(ValidationError) as refusal:
        Event(
            **{"study": make_study(), "position": 0, "kind": "x", "status": "noted", "title": "x", **fields}
        ).save()
    assert list(refusal.value.message_dict) == [field]
    assert message in refusal.value.message_dict[field][0]
    assert Event.objects.count() == 0


def test_a_third_outcome_label_is_refused(db):
    study = make_study()
    configuration = make_configuration(study)
    with pytest.raises(ValidationError, match="'fits' is not a valid choice"):
        Prediction(
            study=study, prediction_set=make_prediction_set(study), configuration=configuration,
            method="donor_copy", label="fits", guard_applicable=False, guard_predicts_failure=False,
        ).save()  # fmt: skip
    assert set(Label.values) == {"within_margin", "above_margin", "memory_failure"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "not a finite number"),
        (float("-inf"), "not a finite number"),
        ("a\x00b", "NUL character"),
        ("\ud800", "lone surrogate"),
        ({1: "x"}, "object key 1 is int, expected text"),
        ({"deep": [{"er": object()}]}, "object cannot be recorded"),
        (dt.datetime(2026, 1, 1), "has no time zone"),
    ],
)
def test_what_an_engine_would_change_is_refused_on_both(db, value, message):
    with pytest.raises(ValueError, match=message):
        _event(make_study(), facts={"value": value}).save()
    assert Event.objects.count() == 0


def test_times_are_the_servers_own(db):
    backdated = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    pool = Pool(slug="pool", title="Pool", recorded_at=backdated)
    pool.save()
    assert pool.recorded_at.year > 2020
    assert LedgerEntry.objects.get().recorded_at == pool.recorded_at


def test_the_actor_is_kept_with_each_link(db):
    with acting("ada"):
        make_pool()
    make_pool()
    assert list(LedgerEntry.objects.order_by("pk").values_list("actor", flat=True)) == ["ada", "system"]


def test_a_row_is_recorded_once(db):
    pool = make_pool()
    with pytest.raises(AppendOnlyError, match="already recorded"):
        record_all([pool])


def test_a_row_may_name_one_that_is_recorded_just_before_it(db):
    pool = Pool(slug="pool", title="Pool")
    study = Study(slug="study", title="Study", question="?", pool=pool)
    record_all([pool, study])
    assert Study.objects.get().pool == pool


def test_recording_nothing_changes_nothing(db):
    record_all([])
    assert LedgerEntry.objects.count() == 0
