"""Posting witnesses from CI and statements by staff: once, however often sent, and never over another."""

from __future__ import annotations

import pytest

from admission.models import Measurement, RecordedReplay, Witness
from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.ledger.verify import verify_streams
from tests.admission_api.conftest import ISSUE, rows

WITNESSES = f"{ISSUE}witnesses/"
MEASURED = {"key": "ci-7-peak", "label": "reference forward", "basis": "increment", "size_bytes": 5_000_000,
            "measured_from": "admission", "measured_to": "end of the forward"}  # fmt: skip
RUN = {
    "key": "ci-7", "title": "Nightly run 7", "hardware": "one H200", "packed_tokens": 1_024,
    "decision": "admitted", "trusted": False, "required_bytes": 4_000_000, "usable_bytes": 9_000_000,
    "outcome": "completed", "stated": "2026-09-26 14:03 UTC", "measurements": [MEASURED],
}  # fmt: skip


def test_a_witness_with_its_measurement_is_recorded_and_classified(art_848, ci):
    answer = ci.post(WITNESSES, RUN)
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert (body["witness_class"], body["scored"]) == ("safe_admission", True)
    assert (body["measured_bytes"], body["under_estimated"]) == (5_000_000, True)
    assert (body["stated_day"], body["stated_precision"], body["origin"]) == (
        "2026-09-26",
        "minute",
        "upload",
    )
    assert body in rows(ci, "witnesses")
    assert LedgerEntry.objects.filter(record_type="admission.witness").last().actor.startswith("key ")
    page = ci.client.get(art_848.get_absolute_url() + "witnesses/")
    assert "Nightly run 7" in page.content.decode()


def test_the_same_again_changes_nothing_and_answers_the_same(ci):
    first = ci.post(WITNESSES, RUN)
    links = LedgerEntry.objects.count()
    again = ci.post(WITNESSES, RUN)
    assert (again.status_code, again.json()) == (200, first.json())
    without_time = {key: value for key, value in RUN.items() if key != "stated"}
    assert ci.post(WITNESSES, without_time).status_code == 200
    assert LedgerEntry.objects.count() == links


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("outcome", "device_oom"), ("required_bytes", 4_000_001), ("title", "Run 7"), ("trusted", True),
        ("hardware", ""), ("stated", "2026-09-27"), ("note", "more"),
        ("measurements", [{**MEASURED, "size_bytes": 1}]),
    ],
)  # fmt: skip
def test_other_content_under_a_recorded_key_is_a_conflict_that_names_the_field(ci, field, value):
    ci.post(WITNESSES, RUN)
    links = LedgerEntry.objects.count()
    answer = ci.post(WITNESSES, {**RUN, field: value})
    assert answer.status_code == 409
    named = answer.json()["error"]["fields"][0]["field"]
    assert named == {"measurements": "size_bytes", "stated": "sort_at"}.get(field, field)
    assert LedgerEntry.objects.count() == links


def test_a_key_of_another_kind_of_record_is_a_conflict(art_848, ci):
    answer = ci.post(WITNESSES, {**RUN, "key": art_848.change_rows.first().key})
    assert answer.status_code == 409
    assert answer.json()["error"]["fields"][0]["field"] == "key"


def test_a_witness_whose_measurement_is_refused_is_not_recorded_either(ci):
    ci.post(WITNESSES, RUN)
    other = {**RUN, "key": "ci-8", "measurements": [{**MEASURED, "key": "ci-8-a"}, MEASURED]}
    assert ci.post(WITNESSES, other).status_code == 409
    assert not Witness.objects.filter(key="ci-8").exists()
    assert not Measurement.objects.filter(key="ci-8-a").exists()


def test_a_measurement_can_follow_its_witness_and_changes_what_is_derived(ci):
    ci.post(WITNESSES, {**RUN, "measurements": []})
    late = {**MEASURED, "witness": "ci-7"}
    assert ci.post(f"{ISSUE}measurements/", late).status_code == 201
    assert ci.post(f"{ISSUE}measurements/", late).status_code == 200
    (row,) = rows(ci, "witnesses", "&key=ci-7")
    assert (row["measurements"], row["under_estimated"]) == (["ci-7-peak"], True)
    # Sent again with the measurement inside, the witness is the same one.
    assert ci.post(WITNESSES, RUN).status_code == 200


def test_a_repeat_points_at_the_witness_that_it_repeats(ci):
    ci.post(WITNESSES, {**RUN, "outcome": "unresolved"})
    again = {**RUN, "key": "ci-8", "outcome": "device_oom", "same_shape_as": "ci-7", "measurements": []}
    body = ci.post(WITNESSES, again).json()
    assert (body["same_shape_as"], body["witness_class"]) == ("ci-7", "unsafe_admission")
    (first,) = rows(ci, "witnesses", "&key=ci-7")
    assert first["witness_class"] == "unscored_admission"


def test_a_replay_is_computed_here_and_kept_beside_its_witness(ci):
    ci.post(WITNESSES, RUN)
    price = {"label": "next", "packed_tokens": 64, "logical_tokens": 64, "output_bytes": 0}
    document = {
        "model": {"hidden_size": 8, "layers": 4, "element_bytes": 2, "experts_per_token": 0},
        "steps": [{"price": {**price, "usable_bytes": 1}}],
    }
    sent = {"key": "ci-7-replay", "witness": "ci-7", "title": "What two policies say", "document": document,
            "policies": ["base", "joint_observation"]}  # fmt: skip
    answer = ci.post(f"{ISSUE}replays/", sent)
    assert answer.status_code == 201, answer.content
    assert answer.json()["summary"]["base"]["refused"] == 1
    assert ci.post(f"{ISSUE}replays/", sent).status_code == 200
    assert ci.post(f"{ISSUE}replays/", {**sent, "policies": ["base"]}).status_code == 409
    assert ci.post(f"{ISSUE}replays/", {**sent, "key": "x", "results": {}}).status_code == 400
    assert RecordedReplay.objects.count() == 1


def test_a_new_status_supersedes_what_held_before(staff):
    before = staff.get(ISSUE).json()["current_status"]
    sent = {"key": "solved", "claim": "resolved", "body": "All of it ran.", "stated": "2026-09-28"}
    answer = staff.post(f"{ISSUE}status-updates/", sent)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["current"], answer.json()["origin"]) == (True, "staff")
    assert staff.post(f"{ISSUE}status-updates/", sent).status_code == 200
    now = staff.get(ISSUE).json()
    assert now["current_status"]["key"] == "solved"
    assert now["replaced_status"] == before
    (old,) = rows(staff, "status-updates", f"&key={before['key']}")
    assert (old["current"], old["superseded_by"]) == (False, "solved")


def test_a_status_in_other_words_stays_the_same_statement(staff):
    current = rows(staff, "status-updates", "&ordering=-stated")[0]
    sent = {"key": "reworded", "claim": "unresolved still", "revises": current["latest_wording"],
            "stated": current["stated_day"]}  # fmt: skip
    body = staff.post(f"{ISSUE}status-updates/", sent).json()
    assert (body["key"], body["latest_wording"], body["claim"]) == (
        current["key"], "reworded", "unresolved still",
    )  # fmt: skip
    assert len(rows(staff, "status-updates")) == 11


def test_withdrawing_the_current_status_brings_back_the_one_before(staff):
    current, before = (row["key"] for row in rows(staff, "status-updates", "&ordering=-stated")[:2])
    sent = {"key": "w1", "kind": "withdrawal", "target": current, "text": "Measured with a wrong driver."}
    assert staff.post(f"{ISSUE}corrections/", sent).status_code == 201
    found = {row["key"]: row for row in rows(staff, "status-updates")}
    assert (found[current]["current"], found[current]["withdrawn_by"]) == (False, "w1")
    assert found[before]["current"]
    statement = staff.get(f"{ISSUE}statements/{current}/").json()
    assert statement["corrections"][-1] == "w1"


def test_a_verdict_falls_when_its_reviewer_withdraws_it_and_takes_the_carried_one_along(staff):
    for table, body in [
        ("changes", {"key": "pr-1", "number": 1, "title": "A fix"}),
        ("heads", {"key": "h1", "change": "pr-1", "sha": "aaaaaaaa", "state": "open",
                   "stated": "2026-09-26"}),
        ("reviews", {"key": "r1", "change": "pr-1", "head_sha": "aaaaaaaa", "reviewer": "Ada",
                     "verdict": "clear", "stated": "2026-09-26"}),
        ("heads", {"key": "h2", "change": "pr-1", "sha": "bbbbbbbb", "state": "merged",
                   "stated": "2026-09-27"}),
    ]:  # fmt: skip
        assert staff.post(f"{ISSUE}{table}/", body).status_code == 201
    (change,) = rows(staff, "changes", "&key=pr-1")
    assert (change["current_head"], change["state"], change["standing_verdict"]) == ("bbbbbbbb", "merged", "")
    carried = {"key": "r2", "change": "pr-1", "head_sha": "bbbbbbbb", "reviewer": "Ada", "verdict": "clear",
               "carried_from": "r1", "carry_reason": "same tree", "stated": "2026-09-27"}  # fmt: skip
    assert staff.post(f"{ISSUE}reviews/", carried).json()["stands"] is True
    (change,) = rows(staff, "changes", "&key=pr-1")
    assert change["standing_verdict"] == "clear"
    withdrawal = {"key": "r3", "change": "pr-1", "head_sha": "aaaaaaaa", "reviewer": "Ada",
                  "verdict": "withdrawn", "withdraws": "r1", "note": "A case was missed.",
                  "stated": "2026-09-28"}  # fmt: skip
    assert staff.post(f"{ISSUE}reviews/", withdrawal).status_code == 201
    (change,) = rows(staff, "changes", "&key=pr-1")
    assert change["standing_verdict"] == ""
    fates = {row["key"]: row["fate"] for row in rows(staff, "reviews", "&change=pr-1")}
    assert fates["r1"] == fates["r2"] == "withdrawn"
    # The change itself is stated as of today, so on an earlier day there is neither it nor its reviews.
    assert rows(staff, "changes", "&key=pr-1&as_of=2026-09-27") == []
    assert rows(staff, "reviews", "&change=pr-1&as_of=2026-09-27") == []


def test_an_answered_question_is_open_no_longer(staff):
    key = rows(staff, "open-questions", "&open=true")[0]["key"]
    sent = {"question": key, "says": "answered", "note": "It was the driver."}
    assert staff.post(f"{ISSUE}question-mentions/", sent).status_code == 201
    assert key not in {row["key"] for row in rows(staff, "open-questions", "&open=true")}
    assert key not in {row["key"] for row in staff.get(ISSUE).json()["questions"]}


def test_a_record_without_a_key_gets_one(staff):
    first, second = (staff.post(f"{ISSUE}open-questions/", {"text": "Why?"}).json()["key"] for _ in "12")
    assert first != second


def test_nothing_can_be_changed_or_deleted(ci):
    ci.post(WITNESSES, RUN)
    for method in ("put", "patch", "delete"):
        answer = getattr(ci.client, method)(f"/api/v1/{WITNESSES}", headers=ci.headers)
        assert answer.status_code == 405


def test_the_chain_holds_after_all_of_it(ci, staff):
    ci.post(WITNESSES, RUN)
    staff.post(f"{ISSUE}status-updates/", {"claim": "unresolved"})
    (report,) = verify_streams("issue/OpenPipe/ART/848")
    assert not report.problem
