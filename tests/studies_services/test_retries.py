"""How often a slot may be tried is the protocol's word, and a later attempt replaces nothing beyond it."""

from __future__ import annotations

import pytest

from studies.estimation.errors import EstimationError
from studies.estimation.protocol import permitted_attempts
from studies.models import Exclusion, NonLaunch, Study
from studies.services.outcomes.slots import attempt_states, slot_states
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
def test_a_claim_that_was_never_launched_is_not_replaced_without_retries():
    slot = slot_of({"resource_cap": {"retries": 0}})
    NonLaunch(study=slot.study, slot=slot, diagnosis="x", reason="never launched: no node").save()
    make_attempt(slot, "completed", 20_000.0)
    state = slot_states([slot])[slot.pk]
    assert (state.resolved, state.reason) == (False, "never launched: no node")
    assert roles(slot) == ["one more than the protocol permits"]


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


@pytest.mark.parametrize("retries", [-1, True, "2", 1.5])
def test_retries_must_be_a_whole_number(retries):
    with pytest.raises(EstimationError, match=r"resource_cap\.retries is .*, expected a whole number"):
        permitted_attempts({"resource_cap": {"retries": retries}})
