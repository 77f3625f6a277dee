"""In the admin, superseding is the only way to change."""

from __future__ import annotations

import pytest
from django.apps import apps

from admission.models import Correction, StatusUpdate, Witness
from admission.services.standing import current_status, statuses
from rlvram_site.ledger.models import LedgerRecord

MODELS = [
    model._meta.model_name
    for model in apps.get_app_config("admission").get_models()
    if issubclass(model, LedgerRecord)
]


@pytest.mark.parametrize("model", MODELS)
def test_staff_reads_every_kind_of_record(model, art_848, staff_client):
    assert staff_client.get(f"/admin/admission/{model}/").status_code == 200


def test_a_recorded_row_can_neither_be_changed_nor_deleted(art_848, staff_client):
    status = StatusUpdate.objects.first()
    address = f"/admin/admission/statusupdate/{status.pk}"
    assert staff_client.get(f"{address}/change/").status_code == 200
    assert staff_client.post(f"{address}/change/", {"claim": "x"}).status_code == 403
    assert staff_client.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    status.refresh_from_db()
    assert status.claim == "original report"


def test_a_new_status_supersedes_the_current_one(art_848, staff_client):
    form = {"issue": art_848.pk, "stated": "October 2, 2026, late evening Mountain", "kind": "update",
            "claim": "resolved", "body": "done"}  # fmt: skip
    assert staff_client.post("/admin/admission/statusupdate/add/", form).status_code == 302
    current = current_status(statuses(art_848)).update
    assert (current.claim, current.key, current.origin) == ("resolved", "status-20261002-1", "staff")
    assert current.stated_precision == "part_of_day"


def test_a_correction_must_name_something_recorded(art_848, staff_client):
    form = {"issue": art_848.pk, "stated": "", "kind": "withdrawal", "target": "nothing", "text": "x"}
    answer = staff_client.post("/admin/admission/correction/add/", form)
    assert answer.status_code == 200
    assert "nothing is recorded under &#x27;nothing&#x27;" in answer.content.decode()
    before = Correction.objects.count()
    staff_client.post("/admin/admission/correction/add/", form | {"target": "status-20260925-1"})
    assert Correction.objects.count() == before + 1
    assert current_status(statuses(art_848)).update.stated_day.day == 23


def test_a_time_that_is_none_is_said_at_its_field(art_848, staff_client):
    form = {"issue": art_848.pk, "stated": "soon", "kind": "update", "claim": "x", "body": ""}
    answer = staff_client.post("/admin/admission/statusupdate/add/", form)
    assert "is not understood as a time" in answer.content.decode()


def test_a_witness_can_be_added(art_848, staff_client):
    form = {"issue": art_848.pk, "stated": "2026-10-01", "title": "New run", "decision": "admitted",
            "outcome": "completed", "trusted": "unknown", "required_bytes": 5}  # fmt: skip
    assert staff_client.post("/admin/admission/witness/add/", form).status_code == 302
    assert Witness.objects.get(title="New run").required_bytes == 5


@pytest.mark.parametrize("model", ["statusupdate", "correction", "witness"])
def test_nobody_else_gets_there(model, art_848, reader_client):
    assert reader_client.get(f"/admin/admission/{model}/add/").status_code == 302
    assert reader_client.post(f"/admin/admission/{model}/add/", {}).status_code == 302


@pytest.mark.parametrize("model", ["threaditem", "proposal", "issueversion", "trackedissue"])
def test_what_imports_record_is_not_typed(model, art_848, staff_client):
    assert staff_client.get(f"/admin/admission/{model}/add/").status_code == 403
