"""A wrong entry is never changed: an upload with ``supersedes`` takes its place and says why."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.ledger.verify import verify_streams
from studies.estimation.tries import SlotTries
from studies.models import Attempt, SeedSlot
from studies.services.outcomes.slots import slot_states
from studies.services.scores.panel import load_panel
from tests.api.conftest import key_for, make_person
from tests.api.logs import COMPLETED, OUT_OF_MEMORY, SAMPLES
from tests.factories import make_attempt, make_study

ATTEMPTS, BATCH = "studies/demo/attempts/", "studies/demo/attempts/batch/"
REASON = "the log was of another run"


@pytest.fixture
def slots(study) -> list[str]:
    return [slot.experiment_id for slot in SeedSlot.objects.filter(study=study).order_by("pk")]


@pytest.fixture
def staff(study):
    return key_for("read", "attempts", "exclusions")


@pytest.fixture
def wrong(uploader, slots):
    """A memory failure that is recorded in the first slot."""
    sent = {"invocation_id": "wrong", "slot": slots[0], "exit_code": 1, "log": OUT_OF_MEMORY}
    assert uploader.post(ATTEMPTS, sent).json()["outcome"] == "memory_failure"
    return "wrong"


def correction(slots, **fields):
    return {"invocation_id": "right", "slot": slots[0], "exit_code": 0, "log": COMPLETED, "samples": SAMPLES,
            "supersedes": "wrong", "supersedes_reason": REASON, **fields}  # fmt: skip


def problems(answer, status=400):
    assert answer.status_code == status, answer.content
    return {item["field"]: item["message"] for item in answer.json()["error"]["fields"]}


def test_a_corrected_entry_takes_the_place_of_the_wrong_one(staff, wrong, slots):
    answer = staff.post(ATTEMPTS, correction(slots))
    assert (answer.status_code, answer.json()["supersedes"]) == (201, "wrong")
    old, new = (staff.get(f"{ATTEMPTS}by-id/{name}/").json() for name in ("wrong", "right"))
    assert (old["role"], old["superseded_by"]) == ("superseded by a corrected entry", "right")
    assert (new["role"], new["supersedes"], new["supersedes_reason"]) == ("eligible", "wrong", REASON)
    slot = staff.get(f"studies/demo/slots/{slots[0]}/").json()
    assert (slot["state"], slot["eligible_attempt"]) == ("completed", "right")
    assert all(report.ok for report in verify_streams())


def test_the_list_and_its_csv_carry_both_directions(staff, wrong, slots):
    staff.post(ATTEMPTS, correction(slots))
    rows = {row["invocation_id"]: row for row in staff.get(ATTEMPTS).json()["results"]}
    assert (rows["wrong"]["superseded_by"], rows["wrong"]["supersedes"]) == ("right", None)
    assert (rows["right"]["superseded_by"], rows["right"]["supersedes"]) == (None, "wrong")
    lines = b"".join(staff.get(f"{ATTEMPTS}?format=csv").streaming_content).decode()
    assert "superseded_by" in lines.splitlines()[0]
    assert REASON in lines


def test_the_same_content_again_is_no_news_and_other_content_a_conflict(staff, wrong, slots):
    assert staff.post(ATTEMPTS, correction(slots)).status_code == 201
    again = staff.post(ATTEMPTS, correction(slots))
    assert (again.status_code, again.json()["supersedes"]) == (200, "wrong")
    other = staff.post(ATTEMPTS, correction(slots, supersedes_reason="another reason"))
    assert "other content" in problems(other, 409)["invocation_id"]
    assert Attempt.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"supersedes": "nobody"}, "supersedes", "'nobody' is not recorded in this study"),
        ({"supersedes": "right"}, "supersedes", "'right' is the entry itself"),
        ({"supersedes": ""}, "supersedes", "blank"),
        ({"supersedes": None}, "supersedes", "null"),
        ({"supersedes": ["wrong"]}, "supersedes", "string"),
        ({"supersedes_reason": " "}, "supersedes_reason", "blank"),
        ({"supersedes_reason": "a\x00b"}, "supersedes_reason", "Null characters"),
    ],
)
def test_what_can_not_be_superseded_is_named(staff, wrong, slots, fields, field, text):
    links = LedgerEntry.objects.count()
    assert text in problems(staff.post(ATTEMPTS, correction(slots, **fields)))[field]
    assert LedgerEntry.objects.count() == links


def test_both_the_entry_and_the_reason_are_needed(staff, wrong, slots):
    sent = correction(slots)
    alone = {name: value for name, value in sent.items() if name != "supersedes"}
    assert "expected none" in problems(staff.post(ATTEMPTS, alone))["supersedes_reason"]
    bare = {name: value for name, value in sent.items() if name != "supersedes_reason"}
    assert "what is wrong with 'wrong'" in problems(staff.post(ATTEMPTS, bare))["supersedes_reason"]


def test_a_planned_entry_is_not_corrected_out_of_the_plan(staff, wrong, slots):
    sent = correction(slots, slot="never planned", unplanned=True)
    assert f"belongs to slot {slots[0]!r}" in problems(staff.post(ATTEMPTS, sent))["supersedes"]


def test_an_entry_under_the_wrong_slot_is_corrected_into_the_right_one(
    staff, wrong, slots, client, monkeypatch
):
    make_attempt(SeedSlot.objects.get(experiment_id=slots[1]), "unresolved", reason="host memory exhausted")
    assert staff.post(ATTEMPTS, correction(slots, slot=slots[1])).status_code == 201
    first, second = (staff.get(f"studies/demo/slots/{name}/").json() for name in slots[:2])
    # The wrong slot is as open as before; in the right one the correction is a try like any other.
    assert (first["state"], first["reason"]) == ("unresolved", "not started")
    assert (second["state"], second["eligible_attempt"]) == ("completed", "right")
    old, new = (staff.get(f"{ATTEMPTS}by-id/{name}/").json() for name in ("wrong", "right"))
    assert (old["role"], old["superseded_by"]) == ("superseded by a corrected entry", "right")
    assert (new["role"], new["supersedes"], new["slot"]) == ("eligible", "wrong", slots[1])
    states = slot_states(SeedSlot.objects.filter(experiment_id__in=slots[:2]))
    assert sorted(state.tries_used for state in states.values()) == [0, 2]
    rules = SimpleNamespace(tries=SlotTries(), memory_margin_limit_mib=38_912, evaluation_seeds=(1, 2, 3))
    monkeypatch.setattr("studies.services.scores.panel.protocols.rules", lambda study: rules)
    panel = load_panel(Attempt.objects.first().study)
    by_slot = {item.slot.experiment_id: item for row in panel.rows for item in row.slots}
    assert (by_slot[slots[0]].resolved, by_slot[slots[1]].resolved) == (False, True)
    page = client.get(f"/studies/demo/slots/{slots[0]}/").content.decode()
    assert "/studies/demo/attempts/right/" in page


def test_an_unplanned_entry_with_a_misspelt_slot_is_corrected_into_the_plan(staff, slots):
    stray = {"invocation_id": "wrong", "slot": slots[0] + "x", "unplanned": True, "exit_code": 1,
             "log": OUT_OF_MEMORY}  # fmt: skip
    assert staff.post(ATTEMPTS, stray).status_code == 201
    assert staff.post(ATTEMPTS, correction(slots)).status_code == 201
    assert staff.get(f"studies/demo/slots/{slots[0]}/").json()["eligible_attempt"] == "right"
    assert staff.get(f"{ATTEMPTS}by-id/wrong/").json()["superseded_by"] == "right"


def test_an_exclusion_follows_an_entry_into_another_slot(staff, wrong, slots):
    staff.post("studies/demo/exclusions/", {"attempt": "wrong", "reason": "wrong device"})
    staff.post(ATTEMPTS, correction(slots, slot=slots[1]))
    assert staff.get(f"{ATTEMPTS}by-id/right/").json()["role"] == "excluded"
    assert not staff.get(f"studies/demo/slots/{slots[1]}/").json()["eligible_attempt"]


def test_an_entry_of_another_study_is_not_found(staff, wrong, slots):
    make_study(slug="other")
    answer = staff.post("studies/other/attempts/", correction(slots, unplanned=True))
    assert "not recorded in this study" in problems(answer)["supersedes"]


def test_a_superseded_entry_is_not_superseded_again_but_its_correction_is(staff, wrong, slots):
    staff.post(ATTEMPTS, correction(slots))
    again = problems(staff.post(ATTEMPTS, correction(slots, invocation_id="third")))["supersedes"]
    assert "'wrong' is already superseded by 'right'" in again
    third = correction(slots, invocation_id="third", supersedes="right")
    assert staff.post(ATTEMPTS, third).status_code == 201
    assert staff.get(f"studies/demo/slots/{slots[0]}/").json()["eligible_attempt"] == "third"


def test_a_batch_supersedes_all_or_nothing(staff, wrong, slots):
    twice = [correction(slots), correction(slots, invocation_id="right-2")]
    named = problems(staff.post(BATCH, {"attempts": twice}))
    assert "twice" in named["attempts[1].supersedes"]
    assert Attempt.objects.count() == 1
    fine = [{"invocation_id": "first", "exit_code": 1}, correction(slots)]
    assert staff.post(BATCH, {"attempts": fine}).status_code == 201
    assert Attempt.objects.get(invocation_id="right").supersedes.invocation_id == "wrong"


def test_a_form_supersedes_too(staff, wrong, slots):
    fields = {"invocation_id": "right", "slot": slots[0], "exit_code": "1", "supersedes": "wrong",
              "supersedes_reason": REASON}  # fmt: skip
    answer = staff.form(ATTEMPTS, fields)
    assert (answer.status_code, answer.json()["supersedes"]) == (201, "wrong")
    record = json.dumps({"invocation_id": "right-2", "slot": slots[0], "supersedes": "right"})
    answer = staff.form(ATTEMPTS, {"attempt": record, "supersedes_reason": REASON})
    assert answer.status_code == 201, answer.content


def test_superseding_needs_the_scope_of_exclusions(uploader, wrong, slots):
    for answer in (
        uploader.post(ATTEMPTS, correction(slots)),
        uploader.post(BATCH, {"attempts": [correction(slots)]}),
        key_for("attempts", "exclusions", owner=make_person("u", "uploader")).post(
            ATTEMPTS, correction(slots)
        ),
    ):
        assert answer.status_code == 403
        assert "scope exclusions" in answer.json()["error"]["message"]
    assert key_for("exclusions").post(ATTEMPTS, correction(slots)).status_code == 403
    assert Attempt.objects.count() == 1


def test_an_unplanned_entry_can_be_corrected_and_still_counts_nowhere(staff):
    staff.post(ATTEMPTS, {"invocation_id": "stray", "exit_code": 1})
    staff.post("studies/demo/exclusions/", {"attempt": "stray", "reason": "wrong device"})
    sent = {"invocation_id": "stray-2", "exit_code": 0, "supersedes": "stray", "supersedes_reason": REASON}
    assert staff.post(ATTEMPTS, sent).status_code == 201
    old, new = (staff.get(f"{ATTEMPTS}by-id/{name}/").json() for name in ("stray", "stray-2"))
    assert (old["role"], old["superseded_by"]) == ("superseded by a corrected entry", "stray-2")
    assert (new["role"], new["supersedes"], new["exclusion"]) == ("unplanned", "stray", "wrong device")


def test_an_exclusion_outlives_the_correction_until_it_is_lifted(staff, wrong, slots):
    path = "studies/demo/exclusions/"
    staff.post(path, {"attempt": "wrong", "reason": "wrong device"})
    staff.post(ATTEMPTS, correction(slots))
    assert staff.get(f"{ATTEMPTS}by-id/right/").json()["role"] == "excluded"
    again = staff.post(path, {"attempt": "right", "reason": "bad day"})
    assert "already excluded (wrong device)" in again.content.decode()
    lifted = staff.post(path, {"attempt": "right", "reason": "the device was right", "lift": True})
    assert lifted.status_code == 201, lifted.content
    assert staff.get(f"{ATTEMPTS}by-id/right/").json()["role"] == "eligible"
