"""Which attempt of a slot counts, and what an unresolved slot says of itself."""

from __future__ import annotations

import pytest

from studies.models import Attempt, Exclusion, NonLaunch
from studies.services.outcomes.slots import slot_states
from studies.services.scores.panel import load_panel
from tests.factories import make_attempt, make_configuration, make_protocol, make_slots, make_study

pytestmark = pytest.mark.django_db
TARGET = "est-qwen25-7b-math-c2-2gpu"


@pytest.fixture
def free():
    """A slot whose protocol sets no limit to the attempts."""
    study = make_study()
    make_protocol(study)
    return make_slots(make_configuration(study))[0]


@pytest.fixture
def slots(planned):
    return list(planned.seedslots.filter(configuration__configuration_id=TARGET).order_by("seed"))


def row(study):
    return load_panel(study).row(TARGET)


def state(study, index=0):
    return row(study).slots[index]


def exclude(attempt, lifted=False, supersedes=None, reason="wrong device"):
    exclusion = Exclusion(
        study=attempt.study,
        attempt=attempt,
        reason=reason,
        author="Ada",
        lifted=lifted,
        supersedes=supersedes,
    )
    exclusion.save()
    return exclusion


def test_a_slot_without_attempts_has_not_started(planned):
    slot = state(planned)
    assert (slot.resolved, slot.reason, slot.attempts) == (False, "not started", ())
    assert row(planned).resolution.state == "unresolved"


def test_the_first_eligible_outcome_counts_and_later_ones_do_not(free):
    make_attempt(free, "unresolved", reason="the node went away")
    first = make_attempt(free, "memory_failure")
    make_attempt(free, "completed", 20_000.0)
    slot = slot_states([free])[free.pk]
    assert slot.eligible == first
    assert [item.role for item in slot.attempts] == ["no outcome", "eligible", "later than the eligible one"]
    assert slot.reason == ""


def test_an_excluded_attempt_gives_way_to_the_next_one(free):
    failed = make_attempt(free, "memory_failure")
    completed = make_attempt(free, "completed", 20_000.0)
    exclude(failed)
    slot = slot_states([free])[free.pk]
    assert slot.eligible == completed
    assert [item.role for item in slot.attempts] == ["excluded", "eligible"]
    assert slot.attempts[0].exclusion.reason == "wrong device"


def test_a_lifted_exclusion_no_longer_holds(planned, slots):
    failed = make_attempt(slots[0], "memory_failure")
    exclude(failed, lifted=True, supersedes=exclude(failed))
    assert state(planned).eligible == failed


def test_a_slot_whose_only_attempt_is_excluded_says_why(planned, slots):
    exclude(make_attempt(slots[0], "memory_failure"))
    slot = state(planned)
    assert (slot.resolved, slot.reason) == (False, "excluded: wrong device")
    assert row(planned).resolution.known_memory_failure is False


def test_an_unresolved_attempt_gives_its_reason(planned, slots):
    make_attempt(slots[0], "unresolved", reason="host memory exhausted", observed_peak_mib=39_000.0)
    slot = state(planned)
    assert (slot.reason, slot.outcome.peak_mib) == ("host memory exhausted", None)


def test_a_slot_that_was_never_launched_gives_its_reason(planned, slots):
    NonLaunch(study=planned, slot=slots[0], diagnosis="x", reason="never launched: no node").save()
    assert state(planned).reason == "never launched: no node"


def test_an_unplanned_attempt_never_counts(planned, slots):
    attempt = Attempt(study=planned, invocation_id="stray", outcome="memory_failure", origin="declared")
    attempt.save()
    panel = load_panel(planned)
    assert panel.unplanned == (attempt,)
    assert not any(slot.attempts for slot in panel.slots)


@pytest.mark.parametrize(
    ("peaks", "label"),
    [
        ([38_912.0, 10.0, 20.0], "within_margin"),
        ([38_912.5, 10.0, 20.0], "above_margin"),
        ([None, 38_913.0, 20.0], "memory_failure"),
    ],
)
def test_three_outcomes_make_a_label(planned, slots, peaks, label):
    for slot, peak in zip(slots, peaks, strict=True):
        make_attempt(slot, "memory_failure" if peak is None else "completed", peak)
    assert row(planned).resolution.label == label


def test_two_outcomes_make_none_but_what_is_known_is_kept(planned, slots):
    make_attempt(slots[0], "memory_failure")
    make_attempt(slots[1], "completed", 40_000.0)
    resolution = row(planned).resolution
    assert resolution.label is None
    assert (resolution.known_memory_failure, resolution.known_margin_exceedance) == (True, True)
    assert row(planned).seeds == "151 ✕ 152 ● 153 ?"
    assert [slot.slot.seed for slot in row(planned).unresolved_slots] == [153]
