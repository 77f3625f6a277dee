"""How often a slot may be tried is the protocol's word, and a later attempt replaces nothing beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.estimation.errors import EstimationError
from studies.estimation.tries import SlotTries, slot_tries
from studies.models import Attempt, Exclusion, NonLaunch, SeedSlot, Study
from studies.services.outcomes.slots import AttemptRole, attempt_states, slot_state_of, slot_states
from studies.services.scores.panel import load_panel
from tests.factories import make_attempt, make_configuration, make_protocol, make_slots, make_study


def exclude(attempt):
    Exclusion(study=attempt.study, attempt=attempt, reason="wrong device", author="Ada").save()
    return attempt


def slot_of(document):
    study = make_study()
    make_protocol(study, document=document)
    return make_slots(make_configuration(study))[0]


def roles(slot):
    return [item.role.value for item in slot_states([slot])[slot.pk].attempts]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("cap", "expected"),
    [
        ({"resource_cap": {"retries": 0}}, ["excluded", "one more than the protocol permits"]),
        ({"resource_cap": {"retries": 1}}, ["excluded", "eligible"]),
        ({"resource_cap": {"gpus": 4}}, ["excluded", "eligible"]),
        ({}, ["excluded", "eligible"]),
    ],
)
def test_a_later_attempt_replaces_an_excluded_one_only_within_the_permitted_number(cap, expected):
    slot = slot_of(cap)
    exclude(make_attempt(slot, "memory_failure"))
    late = make_attempt(slot, "completed", 20_000.0)
    assert roles(slot) == expected
    assert attempt_states([late])[late.pk].role.value == expected[-1]


@pytest.mark.django_db
def test_an_attempt_without_outcome_uses_up_a_try_too():
    slot = slot_of({"resource_cap": {"retries": 0}})
    make_attempt(slot, "unresolved", reason="host memory exhausted")
    make_attempt(slot, "completed", 20_000.0)
    state = slot_states([slot])[slot.pk]
    assert (state.resolved, state.reason) == (False, "host memory exhausted")


@pytest.mark.django_db
def test_a_claim_that_was_never_launched_is_spent_if_the_protocol_lets_nothing_be_queued_again():
    slot = slot_of({"resource_cap": {"retries": 0, "requeue": False}})
    NonLaunch(study=slot.study, slot=slot, diagnosis="x", reason="never launched: no node").save()
    make_attempt(slot, "completed", 20_000.0)
    state = slot_states([slot])[slot.pk]
    assert (state.resolved, state.reason) == (False, "never launched: no node")
    assert roles(slot) == ["one more than the protocol permits"]


@pytest.mark.django_db
@pytest.mark.parametrize("cap", [{"retries": 0}, {"retries": 0, "requeue": True}])
def test_a_claim_that_was_never_launched_is_not_spent_otherwise(cap):
    slot = slot_of({"resource_cap": cap})
    NonLaunch(study=slot.study, slot=slot, diagnosis="x", reason="never launched: no node").save()
    assert slot_states([slot])[slot.pk].one_more_may_count
    make_attempt(slot, "completed", 20_000.0)
    assert roles(slot) == ["eligible"]


@pytest.mark.django_db
def test_the_real_panel_permits_no_replacement(sample_studies, client):
    """`resource_cap.retries` of the original protocol is 0."""
    study = Study.objects.get(slug="estimation")
    slot = study.seedslots.get(experiment_id="est-qwen25-7b-gsm8k-c2-s151-2gpu")
    exclude(slot.attempts.get())
    late = make_attempt(slot, "completed", 20_000.0, invocation_id="second-try")
    row = load_panel(study).row("est-qwen25-7b-gsm8k-c2-2gpu")
    assert row.resolution.unresolved_seeds == (151,)
    page = client.get(f"/studies/estimation/attempts/{late.invocation_id}/").content.decode()
    assert "one more than the protocol permits" in page


@pytest.mark.parametrize(
    ("protocol", "permitted"),
    [
        ({}, None),
        ({"resource_cap": {"retries": 2}}, 3),
        ({"launches_per_slot": 3}, 3),
        ({"resource_cap": {"retries": 2}, "launches_per_slot": 3}, 3),
    ],
)
def test_retries_and_launches_are_one_rule(protocol, permitted):
    assert slot_tries(protocol).permitted == permitted


def test_two_numbers_that_contradict_each_other_are_refused():
    wrong = {"resource_cap": {"retries": 0}, "launches_per_slot": 3}
    with pytest.raises(EstimationError, match=r"launches_per_slot is 3, expected 1, because .*retries is 0"):
        slot_tries(wrong)


@pytest.mark.parametrize("value", ["no", 0])
def test_requeue_must_be_a_flag(value):
    with pytest.raises(EstimationError, match=r"resource_cap\.requeue is .*, expected true or false"):
        slot_tries({"resource_cap": {"requeue": value}})


@given(
    permitted=st.none() | st.integers(1, 5),
    outcomes=st.lists(st.sampled_from(["completed", "memory_failure", "unresolved"]), max_size=7),
    never_launched=st.booleans(),
    uses_one=st.booleans(),
)
def test_one_more_may_count_exactly_if_one_more_would_be_eligible(
    permitted, outcomes, never_launched, uses_one
):
    rule = SlotTries(permitted, uses_one)
    slot = SeedSlot(seed=1)
    launch = NonLaunch(reason="never launched") if never_launched else None

    def state(found):
        rows = [Attempt(pk=number, outcome=word, peak_mib=1.0) for number, word in enumerate(found, 1)]
        return slot_state_of(slot, rows, {}, launch, rule)

    now, then = state(outcomes), state([*outcomes, "completed"])
    newest = then.attempts[-1].role is AttemptRole.ELIGIBLE
    assert now.one_more_may_count == newest


@pytest.mark.parametrize("retries", [-1, True, "2", 1.5])
def test_retries_must_be_a_whole_number(retries):
    with pytest.raises(EstimationError, match=r"resource_cap\.retries is .*, expected a whole number"):
        slot_tries({"resource_cap": {"retries": retries}})
