"""Staff records from what lies at hand: a log line, the address of a review; seen before it is recorded."""

from __future__ import annotations

import pytest

from admission.models import Change, ChangeHead, Proposal, Review, TrackedIssue, Witness
from admission.thread.loglines import read_log
from rlvram_site.ledger.models import LedgerEntry
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, write

ISSUE = "/admission/octo/cat/7/"
TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.25 GiB. GPU 0 has a total capacity "
    "of 139.81 "
    "GiB of which 2.31 GiB is free. Of the allocated memory 134.11 GiB is allocated by PyTorch"
)
REFUSED = (
    "admission refused 70,758 packed / 88,576 logical tokens (predicted 37.200 GiB versus usable 33.278 GiB)"
)
ADMITTED = (
    "admitted 495,955 packed / 1,052,548 logical tokens with required 66,302,838,756 bytes and available "
    "68,787,071,693 bytes, cold_start=False"
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (TORCH, {"decision": "admitted", "outcome": "device_oom", "failed_request_bytes": 3489660928,
                 "failed_request_words": "3.25 GiB", "free_bytes": 2480343613, "free_words": "2.31 GiB",
                 "allocated_bytes": 143999516016, "allocated_words": "134.11 GiB"}),
        (REFUSED, {"decision": "refused", "outcome": "not_executed", "packed_tokens": 70758,
                   "logical_tokens": 88576, "required_bytes": 39943195852, "required_words": "37.200 GiB",
                   "usable_bytes": 35731980419, "usable_words": "33.278 GiB"}),
        (ADMITTED, {"decision": "admitted", "outcome": "unresolved", "packed_tokens": 495955,
                    "logical_tokens": 1052548, "required_bytes": 66302838756, "usable_bytes": 68787071693,
                    "trusted": True}),
        ("step 100 loss 2.5", {}),
    ],
)  # fmt: skip
def test_a_log_line_says_decision_outcome_and_sizes(line, found):
    assert read_log(line) == found


@pytest.fixture
def issue(tmp_path, db) -> TrackedIssue:
    comments = [comment(1, "Ada: CLEAR at 0123abcd4567, runtime unchanged.")]
    run("import_issue", write(tmp_path / "i.json", issue_object("PR #12 is at 0123abcd4567.", comments=1)),
        "--timeline", write(tmp_path / "t.json", comments))  # fmt: skip
    return TrackedIssue.objects.get()


def change_of(issue) -> Change:
    from admission.services.recording import record_row

    return record_row(issue, Change(number=12, title="Fix"), "change")


def test_a_witness_is_read_previewed_and_recorded(issue, staff_client):
    address = f"{ISSUE}record/witness/"
    read = staff_client.post(address, {"log": REFUSED, "read": "yes"})
    page = read.content.decode()
    assert 'value="70758"' in page
    assert 'value="37.200 GiB"' in page
    form = {name: value for name, value in read.context["form"].initial.items() if value != ""}
    form |= {"title": "The refused run", "stated": "2026-03-02"}
    before = LedgerEntry.objects.count()
    preview = staff_client.post(address, {**form, "preview": "yes"})
    assert "This would be recorded" in preview.content.decode()
    assert LedgerEntry.objects.count() == before
    done = staff_client.post(address, {**form, "record": "yes"})
    assert done.status_code == 302
    witness = Witness.objects.get()
    assert (witness.decision, witness.required_bytes, witness.packed_tokens) == (
        "refused",
        39943195852,
        70758,
    )
    assert LedgerEntry.objects.get(record_type="admission.witness").actor == "sam"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"title": ""}, "This field is required"),
        ({"free_bytes": "5"}, "only an outcome out of device memory has one"),
        ({"stated": "soon"}, "is not understood as a time"),
        ({"required_bytes": "-1"}, "greater than or equal to 0"),
        ({"decision": "maybe"}, "Select a valid choice"),
    ],
)
def test_a_form_makes_the_same_checks_as_the_api(values, said, issue, staff_client):
    form = {"title": "t", "decision": "refused", "outcome": "not_executed", **values}
    for step in ("preview", "record"):
        answer = staff_client.post(f"{ISSUE}record/witness/", {**form, step: "yes"})
        assert answer.status_code == 400
        assert said in answer.content.decode()
    assert not Witness.objects.exists()


def test_a_line_without_anything_known_says_so(issue, staff_client):
    page = staff_client.post(f"{ISSUE}record/witness/", {"log": "hello", "read": "yes"}).content.decode()
    assert "No decision, outcome or size was recognised in it." in page


def test_a_verdict_comes_from_the_address_of_a_comment(issue, staff_client):
    change = change_of(issue)
    address = f"{ISSUE}record/verdict/"
    url = "https://github.com/octo/cat/issues/7#issuecomment-1"
    read = staff_client.post(address, {"address": url, "read": "yes"})
    initial = read.context["form"].initial
    assert (initial["reviewer"], initial["verdict"], initial["head_sha"]) == ("Ada", "clear", "0123abcd4567")
    form = {**initial, "change": change.key}
    preview = staff_client.post(address, {**form, "preview": "yes"})
    assert "This would be recorded" in preview.content.decode()
    assert not Review.objects.exists()
    assert staff_client.post(address, {**form, "record": "yes"}).status_code == 302
    review = Review.objects.get()
    assert (review.reviewer, review.stated_in, review.stated_day.isoformat()) == (
        "Ada",
        "comment-1",
        "2026-03-02",
    )


def test_the_address_of_a_change_chooses_the_change(issue, staff_client):
    change = change_of(issue)
    url = "https://github.com/octo/cat/pull/12#pullrequestreview-99"
    read = staff_client.post(f"{ISSUE}record/verdict/", {"address": url, "read": "yes"})
    assert read.context["form"].initial["change"] == change.key
    assert "was not imported" in read.content.decode()


@pytest.mark.parametrize("part", ["record/witness/", "record/verdict/"])
def test_strangers_are_asked_to_log_in_and_readers_are_refused(part, issue, client, reader_client):
    assert reader_client.get(ISSUE + part).status_code == 403
    reader_client.logout()
    assert reader_client.get(ISSUE + part).status_code == 302


def test_an_accepted_proposal_is_previewed_before_it_is_recorded(issue, staff_client):
    change = change_of(issue)
    commit = Proposal.objects.get(kind="commit", value={"sha": "0123abcd4567"})
    form = {"proposal": commit.key, "verdict": "accepted", "change": change.key, "state": "open"}
    shown = staff_client.post(f"{ISSUE}proposals/", form)
    assert "This would be recorded" in shown.content.decode()
    assert not ChangeHead.objects.exists()
    staff_client.post(f"{ISSUE}proposals/", {**form, "record": "yes"})
    assert ChangeHead.objects.get().sha == "0123abcd4567"


def test_an_invented_hash_is_doubted_in_the_preview(issue, staff_client):
    change = change_of(issue)
    commit = Proposal.objects.get(kind="commit", value={"sha": "0123abcd4567"})
    form = {
        "proposal": commit.key,
        "verdict": "edited",
        "sha": "deadbeef12",
        "change": change.key,
        "state": "open",
    }
    shown = staff_client.post(f"{ISSUE}proposals/", form).content.decode()
    assert "deadbeef12 stands in no text of this issue and in no recorded head" in shown
    assert not ChangeHead.objects.exists()


def test_an_accepted_verdict_becomes_a_review_of_its_head(issue, staff_client):
    change = change_of(issue)
    proposal = Proposal.objects.get(kind="verdict")
    form = {"proposal": proposal.key, "verdict": "accepted", "change": change.key, "record": "yes"}
    assert staff_client.post(f"{ISSUE}proposals/", form).status_code == 302
    review = Review.objects.get()
    assert (review.verdict, review.head_sha, review.reviewer) == ("clear", "0123abcd4567", "Ada")
    assert review.sentence.startswith("Ada: CLEAR at")


def test_an_accepted_failure_becomes_a_witness(tmp_path, db, staff_client):
    run("import_issue", write(tmp_path / "i.json", issue_object(TORCH)))
    proposal = Proposal.objects.get(kind="failure")
    form = {
        "proposal": proposal.key,
        "verdict": "accepted",
        "title": "g16",
        "decision": "admitted",
        "record": "yes",
    }
    assert staff_client.post(f"{ISSUE}proposals/", form).status_code == 302
    witness = Witness.objects.get()
    assert (witness.outcome, witness.failed_request_words, witness.stated_in) == (
        "device_oom",
        "3.25 GiB",
        "report",
    )


def test_nothing_asks_for_raw_json(issue, staff_client):
    change_of(issue)
    for part in ("record/witness/", "record/verdict/", "proposals/"):
        page = staff_client.get(ISSUE + part).content.decode()
        assert "[{" not in page
        assert "JSON" not in page
    assert 'name="findings"' in staff_client.get("/admin/admission/review/add/").content.decode()
