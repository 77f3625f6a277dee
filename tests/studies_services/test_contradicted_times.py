"""Stated times against the ledger: its order decides, and a clock that says otherwise is shown in red."""

from __future__ import annotations

import datetime as dt

import pytest

from studies.services.life import Stage, life
from studies.services.predictions.seals import seal_state
from tests.factories import make_attempt, make_study
from tests.pages.reading import text_of

pytestmark = pytest.mark.django_db


def run_at(study, seconds, **fields):
    """An attempt recorded now, whose own clock stands so many seconds after the seal."""
    moment = study.seals.get().sealed_at + dt.timedelta(seconds=seconds)
    return make_attempt(study.seedslots.first(), "memory_failure", started_at=moment, **fields)


def test_an_attempt_with_a_clock_before_the_seal_contradicts_it(planned, client):
    early = run_at(planned, -1, invocation_id="early")
    state = seal_state(planned)
    assert (state.prospective, state.in_order, state.verdict) == (False, True, "contradicted")
    assert state.contradictions == (early,)
    answer = client.get("/api/v1/studies/estimation/").json()["seal_state"]
    assert answer["prospective"] == "contradicted"
    assert "by its own clock early ran at 2026-09-15 14:10:20 UTC" in answer["contradiction"]
    for page in ("", "history/"):
        said = text_of(client.get(f"/studies/estimation/{page}"))
        assert "Contradicted: 1 attempt was recorded after the seal" in said
    assert "✕ recorded after the seal, by its own clock before it" in said


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_clock_at_or_after_the_seal_contradicts_nothing(planned, seconds):
    run_at(planned, seconds)
    assert seal_state(planned).verdict is True


def test_an_attempt_without_a_clock_contradicts_nothing(planned):
    make_attempt(planned.seedslots.first(), "memory_failure")
    assert seal_state(planned).verdict is True


def test_the_stage_follows_from_the_records(planned, client):
    assert life(make_study()).stage == Stage.DRAFT
    assert life(planned).stage == Stage.SEALED
    run_at(planned, 1)
    assert life(planned).stage == Stage.EXECUTING
    for slot in planned.seedslots.all()[1:]:
        make_attempt(slot, "unresolved")
    assert life(planned).stage == Stage.CLOSED
    assert client.get("/api/v1/studies/estimation/").json()["life"]["stage"] == "closed"
    assert "no further attempt of a planned slot may count" in text_of(client.get("/studies/estimation/"))


def test_an_imported_hash_is_its_sources_word(planned, client):
    said = text_of(client.get("/studies/estimation/"))
    assert "Stated by the source (RLVRAMBench, Ondřej Kobza and Jan Šedivý, MIT)" in said
    assert client.get("/api/v1/studies/estimation/protocol/").json()["whose_word"] == "stated by the source"
    (seal,) = client.get("/api/v1/studies/estimation/seals/").json()["results"]
    assert seal["whose_word"] == "stated by the source"
