"""What a CI job uploads stands on the study's pages at once."""

from __future__ import annotations

import pytest
from django.test import Client

from studies.models import SeedSlot
from tests.api.conftest import key_for
from tests.api.logs import OUT_OF_MEMORY, SAMPLES
from tests.api.panel import ORIGINAL, load_plan


@pytest.fixture
def slot(db) -> SeedSlot:
    return SeedSlot.objects.filter(study=load_plan()).first()


def test_an_uploaded_failure_stands_on_its_page_with_the_line_that_decides(slot):
    api = key_for("read", "attempts")
    sent = {
        "invocation_id": "run-1", "slot": slot.experiment_id, "exit_code": 1, "log": OUT_OF_MEMORY,
        "samples": SAMPLES, "claimed_diagnosis": "timeout",
    }  # fmt: skip
    assert api.post(f"studies/{ORIGINAL}/attempts/", sent).status_code == 201
    page = Client().get(f"/studies/{ORIGINAL}/attempts/run-1/").content.decode()
    assert "derived</strong> from uploaded evidence" in page
    assert "sent.log:5" in page
    assert "5 ▶ torch.OutOfMemoryError: CUDA out of memory" in page
    assert "disagrees" in page
    assert "timeout" in page
    assert run_is_on_the_slot_page(slot)


def run_is_on_the_slot_page(slot: SeedSlot) -> bool:
    page = Client().get(f"/studies/{ORIGINAL}/slots/{slot.experiment_id}/").content.decode()
    return "run-1" in page and "memory failure" in page


def test_a_declared_outcome_is_marked_on_its_page(slot):
    api = key_for("read", "attempts", "declare")
    declared = {"outcome": "memory_failure", "diagnosis": "cuda_oom", "source": "the operator's notes"}
    sent = {"invocation_id": "run-1", "slot": slot.experiment_id, "declared": declared}
    assert api.post(f"studies/{ORIGINAL}/attempts/", sent).status_code == 201
    page = Client().get(f"/studies/{ORIGINAL}/attempts/run-1/").content.decode()
    assert "<strong>declared</strong>, not derived from evidence" in page
    assert "the operator&#x27;s notes" in page
    assert run_is_on_the_slot_page(slot)


def test_an_outcome_before_the_seal_is_known_for_good(db):
    study = load_plan({"study", "protocol", "configuration", "slot", "amendment"}, slug="unsealed")
    api = key_for("read", "attempts", "evaluations")
    slot = SeedSlot.objects.filter(study=study).first()
    sent = {"invocation_id": "run-1", "slot": slot.experiment_id, "exit_code": 1, "log": OUT_OF_MEMORY}
    api.post("studies/unsealed/attempts/", sent)
    state = api.get("studies/unsealed/").json()["seal_state"]
    assert (state["prospective"], state["number"]) == (False, None)
    assert state["first_outcome"] is not None
