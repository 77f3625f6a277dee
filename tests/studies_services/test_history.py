"""One line of time: what stands where, and what was known at a moment."""

from __future__ import annotations

import datetime as dt

import pytest

from studies.figures.timeline import LANES as DRAWN_LANES
from studies.models import Study
from studies.services.history.timeline import LANES, timeline
from studies.services.scores.panel import load_panel
from tests.factories import make_attempt

pytestmark = pytest.mark.django_db


def at(text):
    return dt.datetime.fromisoformat(f"2026-09-15T{text}+00:00")


@pytest.fixture
def study(sample_studies):
    return Study.objects.get(slug="estimation")


def test_the_lanes_are_those_that_the_figure_draws():
    assert LANES == DRAWN_LANES


def test_protocol_amendment_seal_and_then_everything_else(study):
    items = timeline(study)
    assert [item.title for item in items[:3]] == [
        "Protocol estimation-1.0 frozen", "Amendment 1: amendment", "Predictions sealed",
    ]  # fmt: skip
    assert [item.at for item in items] == sorted(item.at for item in items)
    counts = {lane: sum(item.lane == lane for item in items) for lane in LANES}
    assert counts == {
        "protocol and amendments": 2, "seals": 1, "launches": 20, "outcomes": 34, "exclusions": 0,
        "events": 11,
    }  # fmt: skip


def test_failed_preflights_the_cancelled_array_repairs_and_host_kills_are_events(study):
    events = {item.title: item for item in timeline(study) if item.lane == "events"}
    assert "Array of 18 pairs cancelled, 2 had started" in events
    assert events["Array of 18 pairs cancelled, 2 had started"].at == at("14:33:09")
    assert "Runtime repaired" in events
    assert "job 5054954 on acn18, 4 kills" in events["Host memory killed 2 jobs"].detail
    failed = study.events.filter(status="failed")
    assert [item.job_id for item in failed] == ["5054195", "5054489"]


def test_what_lasted_has_both_ends(study):
    launch = next(item for item in timeline(study) if item.title == "Pair est-qwen25-7b-math-c2-s153")
    assert (launch.at, launch.ended_at, launch.known_at) == (at("14:30:44"), at("14:32:15"), at("14:32:15"))


def test_an_event_without_a_time_stands_where_its_source_has_it(study):
    first = next(item for item in timeline(study) if item.lane == "events")
    assert (first.stated, first.at) == (False, study.seals.get().sealed_at)


def test_as_of_a_moment_only_what_was_known_counts(study):
    nothing = load_panel(study, as_of=at("14:00:00"))
    assert (nothing.methods, nothing.seal, len(nothing.resolved)) == ((), None, 0)
    sealed = load_panel(study, as_of=at("14:20:00"))
    assert (len(sealed.methods), sum(slot.resolved for slot in sealed.slots)) == (3, 0)
    assert {row.cells["donor_copy"] for row in sealed.rows} == {"approved_unscored"}
    later = load_panel(study, as_of=at("16:10:13"))
    assert (len(later.resolved), sum(slot.resolved for slot in later.slots)) == (2, 14)
    assert len(load_panel(study, as_of=max(item.known_at for item in timeline(study))).resolved) == 6


def test_what_was_recorded_here_is_known_from_then_on(study):
    slot = study.seedslots.get(experiment_id="est-qwen25-7b-math-c3-s152-2gpu")
    attempt = make_attempt(slot, "memory_failure", ended_at=at("20:00:00"))

    def known(moment):
        slots = load_panel(study, as_of=moment).row("est-qwen25-7b-math-c3-2gpu").slots
        return [item.attempt for state in slots if state.slot == slot for item in state.attempts]

    assert known(at("20:00:00")) == [attempt]
    assert known(at("19:59:59")) == []
