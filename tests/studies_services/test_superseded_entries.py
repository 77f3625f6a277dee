"""What a slot, the costs, the history and an earlier moment make of a corrected entry."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.tries import SlotTries
from studies.models import Attempt, Exclusion, NonLaunch, SeedSlot
from studies.services.history.timeline import timeline
from studies.services.outcomes.slots import AttemptRole, slot_state_of, slot_states
from studies.services.scores.costs import panel_cost
from studies.services.scores.panel import load_panel
from tests.factories import make_attempt, make_configuration, make_protocol, make_slots, make_study

END = dt.datetime(2026, 9, 10, tzinfo=dt.UTC)


def correct(wrong, outcome="completed", peak_mib=None, **fields):
    return make_attempt(
        wrong.slot, outcome, peak_mib, supersedes=wrong, supersedes_reason="another run's log", **fields
    )


def slot_with(retries):
    study = make_study()
    make_protocol(study, document={"resource_cap": {"retries": retries}})
    return make_slots(make_configuration(study))[0]


def roles(slot):
    return [item.role.value for item in slot_states([slot])[slot.pk].attempts]


@pytest.mark.django_db
def test_a_correction_is_no_further_try_and_stands_where_the_wrong_entry_stood():
    slot = slot_with(retries=1)
    first = make_attempt(slot, "unresolved", reason="lost")
    make_attempt(slot, "memory_failure")
    corrected = correct(first, "completed", 20_000.0)
    state = slot_states([slot])[slot.pk]
    assert state.eligible == corrected
    assert [item.attempt.outcome for item in state.attempts] == ["unresolved", "completed", "memory_failure"]
    assert roles(slot) == ["superseded by a corrected entry", "eligible", "later than the eligible one"]


@pytest.mark.django_db
def test_a_correction_of_one_try_too_many_replaces_nothing():
    slot = slot_with(retries=0)
    make_attempt(slot, "unresolved", reason="lost")
    correct(make_attempt(slot, "unresolved", reason="lost too"), "completed", 20_000.0)
    assert roles(slot)[1:] == ["superseded by a corrected entry", "one more than the protocol permits"]
    assert slot_states([slot])[slot.pk].reason == "lost"


@pytest.mark.django_db
def test_a_correction_to_unresolved_leaves_the_slot_unresolved_with_its_reason():
    slot = slot_with(retries=0)
    correct(make_attempt(slot, "completed", 20_000.0), "unresolved", reason="the samples were not ours")
    state = slot_states([slot])[slot.pk]
    assert (state.resolved, state.reason) == (False, "the samples were not ours")


@pytest.mark.django_db
@pytest.mark.parametrize("which", ["wrong", "corrected"])
def test_an_exclusion_of_either_entry_stands_against_the_corrected_one(which):
    slot = slot_with(retries=0)
    wrong = make_attempt(slot, "memory_failure")
    corrected = correct(wrong, "completed", 20_000.0)
    excluded = {"wrong": wrong, "corrected": corrected}[which]
    Exclusion(study=slot.study, attempt=excluded, reason="wrong device", author="Ada").save()
    assert roles(slot) == ["superseded by a corrected entry", "excluded"]
    assert slot_states([slot])[slot.pk].reason == "excluded: wrong device"


@pytest.mark.django_db
def test_before_the_correction_was_recorded_the_wrong_entry_counts(planned):
    slot = planned.seedslots.get(experiment_id="est-qwen25-7b-math-c2-s151-2gpu")
    wrong = make_attempt(slot, "memory_failure", started_at=END - dt.timedelta(hours=1), ended_at=END)
    corrected = correct(wrong, "completed", 20_000.0, started_at=wrong.started_at, ended_at=END)

    def then(moment=None):
        row = load_panel(planned, moment).row("est-qwen25-7b-math-c2-2gpu")
        state = next(item for item in row.slots if item.slot == slot)
        return state.eligible, [item.role for item in state.attempts]

    before = corrected.recorded_at - dt.timedelta(microseconds=1)
    assert then(before) == (wrong, [AttemptRole.ELIGIBLE])
    assert then(corrected.recorded_at) == (corrected, [AttemptRole.SUPERSEDED, AttemptRole.ELIGIBLE])
    assert then() == then(corrected.recorded_at)


@pytest.mark.django_db
def test_the_history_says_what_was_corrected_when_it_was_recorded_and_why(planned):
    wrong = make_attempt(planned.seedslots.first(), "memory_failure", started_at=END, ended_at=END)
    corrected = correct(wrong, "completed", 20_000.0, started_at=END, ended_at=END)
    items = {item.row: item for item in timeline(planned)}
    assert f"superseded by {corrected.invocation_id}" in items[wrong].detail
    assert f"supersedes {wrong.invocation_id}, because another run's log" in items[corrected].detail
    assert (items[wrong].at, items[corrected].at) == (END, corrected.recorded_at)
    assert not items[corrected].stated


@pytest.mark.django_db
def test_an_invocation_costs_its_time_once():
    slot = slot_with(retries=0)
    wrong = make_attempt(slot, "memory_failure", task_gpu_seconds=100.0)
    correct(wrong, "completed", 20_000.0, task_gpu_seconds=120.0)
    task = next(item for item in panel_cost(slot.study) if item.scope == "task_provisioned_time")
    assert (task.known_records, task.known_gpu_seconds) == (1, 120.0)


def _rows(tries):
    """Unsaved attempts: the entries of each try, the later correcting the earlier; first ones come first."""
    rows, number = [], 0
    longest = max(map(len, tries), default=0)
    latest: dict[int, Attempt] = {}
    for depth in range(longest):
        for place, outcomes in enumerate(tries):
            if depth < len(outcomes):
                number += 1
                row = Attempt(pk=number, outcome=outcomes[depth], invocation_id=f"run-{number}")
                row.peak_mib = 10.0 * number if row.outcome == "completed" else None
                row.supersedes_id = latest[place].pk if depth else None
                latest[place] = row
                rows.append(row)
    return rows, [latest[place] for place in range(len(tries))]


@given(
    st.lists(st.lists(st.sampled_from(Attempt.Outcome.values), min_size=1, max_size=4), max_size=4),
    st.one_of(st.none(), st.integers(1, 4)),
    st.booleans(),
)
def test_a_slot_says_what_it_would_say_if_only_the_corrected_entries_had_been_recorded(
    tries, permitted, launched
):
    rows, corrected = _rows(tries)
    rule = SlotTries(permitted, never_launched_uses_one=True)
    slot, failed = SeedSlot(pk=1, seed=1), None if launched else NonLaunch(reason="no node")
    state = slot_state_of(slot, rows, {}, failed, rule)
    clean = [
        Attempt(pk=place, outcome=row.outcome, peak_mib=row.peak_mib, invocation_id=row.invocation_id)
        for place, row in enumerate(corrected, start=1)
    ]
    expected = slot_state_of(slot, clean, {}, failed, rule)
    assert (state.outcome, state.reason) == (expected.outcome, expected.reason)
    standing = [item for item in state.attempts if item.role is not AttemptRole.SUPERSEDED]
    assert [(item.attempt.invocation_id, item.role) for item in standing] == [
        (item.attempt.invocation_id, item.role) for item in expected.attempts
    ]
    assert len(state.attempts) == len(rows)
