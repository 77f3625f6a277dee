"""Staff record amendments, exclusions and keys in the admin, and can change nothing that is recorded."""

from __future__ import annotations

import json
import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from rlvram_site.api.keys import ApiKey, ApiKeyUse, find_key
from rlvram_site.ledger.models import AppendOnlyModel, LedgerEntry
from studies.models import Amendment, Attempt, Exclusion, SeedSlot
from studies.services.plan.amendments import effects
from studies.services.plan.protocols import effective_protocol
from tests.api.panel import DRAFT, amendment_one, load_plan
from tests.factories import make_attempt, make_small_study

ADD = "/admin/studies/amendment/add/"


@pytest.fixture
def staff(db) -> Client:
    client = Client()
    client.force_login(
        get_user_model().objects.create_user("ada", password="a long pass phrase", is_staff=True)
    )
    return client


@pytest.fixture
def draft(db):
    """The real study with its base protocol only: no amendment, no seal, nothing launched."""
    return load_plan(DRAFT)


def form(study, updates, **fields) -> dict[str, str]:
    return {"study": str(study.pk), "updates": json.dumps(updates), "reason": "a sign error",
            "amended_at_0": "", "amended_at_1": "", **fields}  # fmt: skip


def record(staff: Client, study, updates, **fields):
    """Both steps; the second sends what the first one's page holds."""
    page = staff.post(ADD, form(study, updates, **fields)).content.decode()
    confirmed = re.search(r'name="confirmed" value="(\w+)"', page)
    assert confirmed, page
    return staff.post(ADD, form(study, updates, confirmed=confirmed[1], **fields), follow=True)


def words(study) -> list[str]:
    return [item.word.value for item in effects(study)]


def test_the_preview_shows_keys_before_and_after_and_records_nothing(staff, draft):
    page = staff.post(ADD, form(draft, amendment_one())).content.decode()
    assert '<strong id="word">amendment</strong>' in page
    assert "<del>actor_parameter_offload</del>" in page
    assert "<ins>resident_actor_shards_gib</ins>" in page
    assert draft.protocols.get().sha256 in page
    assert Amendment.objects.count() == 0


def test_an_amendment_before_any_launch_is_one_and_holds(staff, draft):
    answer = record(staff, draft, amendment_one())
    assert "By the ledger: amendment." in answer.content.decode()
    assert words(draft) == ["amendment"]
    assert effective_protocol(draft)["features"][-1] == "resident_actor_shards_gib"
    link = LedgerEntry.objects.get(record_type="studies.amendment")
    assert link.actor == "ada"


def test_a_backdated_time_changes_nothing(staff, draft):
    slot = SeedSlot.objects.filter(study=draft)[0]
    make_attempt(slot, "unresolved", reason="lost")
    record(staff, draft, amendment_one())
    make_attempt(slot, "memory_failure", diagnosis="cuda_oom")
    features = [*amendment_one()["features"][:-1], "actor_parameter_offload"]
    record(staff, draft, {"features": features}, amended_at_0="2020-01-01", amended_at_1="00:00:00")
    assert words(draft) == ["amendment after launch", "deviation"]
    assert Amendment.objects.get(number=2).amended_at.year == 2020


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        ({"evaluation_seeds": [1, 2, 3]}, "is frozen"),
        ({"memory_margin_limit_mib": 40960}, "is frozen"),
        ({"features": ["made_up"]}, "features"),
        ([1], "Expected a JSON object"),
        ({}, "This field is required"),
    ],
)
def test_what_the_protocol_froze_is_refused_with_the_reason(staff, draft, updates, text):
    page = staff.post(ADD, form(draft, updates)).content.decode()
    assert text in page
    assert "confirmed" not in page
    assert Amendment.objects.count() == 0


def test_values_that_hold_already_are_no_amendment(staff, draft):
    record(staff, draft, amendment_one())
    page = staff.post(ADD, form(draft, amendment_one())).content.decode()
    assert "nothing to amend" in page


def test_history_that_moved_since_the_preview_asks_again(staff, draft):
    page = staff.post(ADD, form(draft, amendment_one())).content.decode()
    confirmed = re.search(r'name="confirmed" value="(\w+)"', page)[1]
    make_attempt(SeedSlot.objects.filter(study=draft)[0], "memory_failure", diagnosis="cuda_oom")
    again = staff.post(ADD, form(draft, amendment_one(), confirmed=confirmed)).content.decode()
    assert "Something was recorded in this study since the preview" in again
    assert '<strong id="word">deviation</strong>' in again
    assert Amendment.objects.count() == 0


def test_an_exclusion_and_its_lifting_are_two_records(staff):
    study = make_small_study()
    attempt = make_attempt(SeedSlot.objects.filter(study=study)[0], "memory_failure", diagnosis="cuda_oom")
    path = "/admin/studies/exclusion/add/"
    staff.post(path, {"attempt": attempt.pk, "reason": "wrong driver"})
    refused = staff.post(path, {"attempt": attempt.pk, "reason": "again"})
    assert b"already excluded" in refused.content
    staff.post(path, {"attempt": attempt.pk, "reason": "it was right", "lifted": "on"})
    first, second = Exclusion.objects.order_by("pk")
    assert (first.author, first.lifted, second.lifted, second.supersedes) == ("ada", False, True, first)
    assert set(
        LedgerEntry.objects.filter(record_type="studies.exclusion").values_list("actor", flat=True)
    ) == {"ada"}


CORRECT = "/admin/studies/attempt/add/"


@pytest.fixture
def wrong(db) -> Attempt:
    """A memory failure with the times and facts of its run."""
    slot = SeedSlot.objects.filter(study=make_small_study(slug="demo"))[0]
    return make_attempt(
        slot, "memory_failure", diagnosis="cuda_oom", job_id="7", task_gpu_seconds=90.0, exit_signal=9,
        started_at="2026-09-15T10:00:00Z", ended_at="2026-09-15T10:05:00Z", facts={"node": "n1"},
        invocation_id="wrong",
    )  # fmt: skip


def corrected(wrong, **fields) -> dict[str, str]:
    return {"supersedes": str(wrong.pk), "supersedes_reason": "another run's log", "invocation_id": "right",
            "outcome": "completed", "diagnosis": "", "peak_mib": "30000", "reason": "",
            "source": "the operator", **fields}  # fmt: skip


def test_a_corrected_entry_is_a_new_declared_record_that_keeps_what_was_right(staff, wrong):
    shown = staff.get(f"/admin/studies/attempt/{wrong.pk}/change/").content.decode()
    link = re.search(r'href="([^"]+)">Supersede<', shown)[1]
    assert f'<option value="{wrong.pk}" selected>wrong</option>' in staff.get(link).content.decode()
    page = staff.post(CORRECT, corrected(wrong), follow=True).content.decode()
    assert "Recorded: right supersedes wrong." in page
    row = Attempt.objects.get(invocation_id="right")
    assert (row.supersedes, row.supersedes_reason, row.slot) == (wrong, "another run's log", wrong.slot)
    assert (row.origin, row.source, row.outcome, row.peak_mib) == (
        "declared", "the operator", "completed", 30000,
    )  # fmt: skip
    kept = Attempt.objects.get(pk=wrong.pk)
    for name in ("started_at", "ended_at", "task_gpu_seconds", "job_id", "exit_signal", "facts"):
        assert getattr(row, name) == getattr(kept, name), name
    assert LedgerEntry.objects.get(record_type="studies.attempt", record_id=row.pk).actor == "ada"
    shown = staff.get(f"/admin/studies/attempt/{wrong.pk}/change/").content.decode()
    assert "right</a>, because another run&#x27;s log" in shown


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"peak_mib": ""}, "peak in MiB, above zero"),
        ({"peak_mib": "nan"}, "Enter a number"),
        ({"outcome": "memory_failure", "peak_mib": ""}, "for a GPU-memory failure"),
        ({"outcome": "unresolved", "peak_mib": ""}, "why the slot stays unresolved"),
        ({"supersedes_reason": " "}, "This field is required"),
        ({"supersedes": "999999"}, "not one of the available choices"),
        ({"supersedes": "9" * 30}, "not one of the available choices"),
        ({"supersedes": "x"}, "not one of the available choices"),
        ({"invocation_id": "a b"}, "expected letters, digits"),
        ({"invocation_id": "wrong"}, "already recorded with other content"),
        ({"source": ""}, "This field is required"),
    ],
)
def test_a_correction_that_does_not_hold_together_is_refused_by_field(staff, wrong, fields, text):
    page = staff.post(CORRECT, corrected(wrong, **fields))
    assert page.status_code == 200
    assert text in page.content.decode()
    assert Attempt.objects.count() == 1


def test_an_entry_is_corrected_once_and_then_its_correction(staff, wrong):
    staff.post(CORRECT, corrected(wrong))
    again = staff.post(CORRECT, corrected(wrong, invocation_id="third")).content.decode()
    assert "is already superseded by &#x27;right&#x27;" in again
    right = Attempt.objects.get(invocation_id="right")
    staff.post(CORRECT, corrected(right, invocation_id="third"))
    assert Attempt.objects.get(invocation_id="third").supersedes == right


def test_the_exclusion_of_a_wrong_entry_is_lifted_for_the_corrected_one(staff, wrong):
    path = "/admin/studies/exclusion/add/"
    staff.post(path, {"attempt": wrong.pk, "reason": "wrong driver"})
    staff.post(CORRECT, corrected(wrong))
    right = Attempt.objects.get(invocation_id="right")
    assert b"already excluded" in staff.post(path, {"attempt": right.pk, "reason": "again"}).content
    staff.post(path, {"attempt": right.pk, "reason": "it was right", "lifted": "on"})
    first, second = Exclusion.objects.order_by("pk")
    assert (second.attempt, second.lifted, second.supersedes) == (right, True, first)


def test_only_staff_corrects_entries(db, wrong):
    client = Client()
    client.force_login(get_user_model().objects.create_user("eve", password="a long pass phrase"))
    client.post(CORRECT, corrected(wrong))
    assert Attempt.objects.count() == 1


def test_a_keys_secret_is_shown_once_and_the_key_can_be_revoked(staff):
    owner = get_user_model().objects.get(username="ada")
    page = staff.post(
        "/admin/ledger/apikey/add/",
        {"name": "cluster", "owner": owner.pk, "scopes": ["read", "attempts"], "study": ""},
    )
    secret = re.search(r'<code id="secret">([\w.]+)</code>', page.content.decode())[1]
    assert "no-store" in page["Cache-Control"]
    key = ApiKey.objects.get()
    assert find_key(secret) == key
    assert secret.partition(".")[2] not in json.dumps(
        [str(value) for value in ApiKey.objects.values_list().get()]
    )
    shown = staff.get(f"/admin/ledger/apikey/{key.pk}/change/").content.decode()
    assert secret not in shown
    headers = {"Authorization": f"Api-Key {secret}"}
    assert Client().get("/api/v1/studies/", headers=headers).status_code == 200
    assert ApiKeyUse.objects.get().key == key
    staff.post("/admin/ledger/apikeyrevocation/add/", {"key": key.pk, "reason": "lost laptop"})
    refused = Client().get("/api/v1/studies/", headers=headers)
    assert refused.status_code == 401
    assert "was revoked" in refused.json()["error"]["message"]


def test_a_key_that_expires_in_the_past_is_refused(staff):
    owner = get_user_model().objects.get(username="ada")
    answer = staff.post(
        "/admin/ledger/apikey/add/",
        {
            "name": "x",
            "owner": owner.pk,
            "scopes": ["read"],
            "expires_at_0": "2020-01-01",
            "expires_at_1": "0:00",
        },
    )
    assert b"is in the past" in answer.content
    assert ApiKey.objects.count() == 0


RECORDED = [
    model
    for model in apps.get_models()
    if issubclass(model, AppendOnlyModel) and model._meta.app_label != "admission"
]


@pytest.mark.parametrize("model", RECORDED, ids=lambda model: model.__name__)
def test_every_recorded_table_is_readable_and_unchangeable(staff, model):
    study = make_small_study()
    make_attempt(SeedSlot.objects.filter(study=study)[0], "completed", 30000)
    assert model in admin.site._registry
    label = f"{model._meta.app_label}_{model._meta.model_name}"
    assert staff.get(reverse(f"admin:{label}_changelist")).status_code == 200
    row = model._default_manager.first()
    if row is None:
        return
    page = staff.get(reverse(f"admin:{label}_change", args=[row.pk]))
    assert page.status_code == 200
    assert b'name="_save"' not in page.content
    before = model._default_manager.filter(pk=row.pk).values().get()
    assert staff.post(reverse(f"admin:{label}_change", args=[row.pk]), {"reason": "x"}).status_code == 403
    assert staff.post(reverse(f"admin:{label}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model._default_manager.filter(pk=row.pk).values().get() == before


def test_people_without_the_staff_role_do_not_get_in(db):
    client = Client()
    client.force_login(get_user_model().objects.create_user("bob", password="a long pass phrase"))
    assert client.get(ADD).status_code == 302
    assert client.post("/admin/studies/exclusion/add/", {}).status_code == 302
    assert Attempt.objects.count() == 0
