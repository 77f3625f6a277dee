"""What text suggests becomes a record only when staff says so, and points back at its sentence."""

from __future__ import annotations

import pytest
from django.test import Client

from admission.models import (
    Change,
    ChangeHead,
    Measurement,
    Proposal,
    ProposalDecision,
    Receipt,
    TrackedIssue,
)
from rlvram_site.ledger.models import LedgerEntry
from tests.admission.conftest import run
from tests.admission.threads import issue_object, write

BODY = (
    "PR #12 is at 0123456789abcdef0123456789abcdef01234567 now. "
    "It needed 6,713,560,268 bytes. The receipt is run/receipt.json (af823635)."
)
ADDRESS = "/admission/octo/cat/7/proposals/"


@pytest.fixture
def found(tmp_path, db):
    run("import_issue", write(tmp_path / "i.json", issue_object(BODY)))
    return {proposal.kind: proposal for proposal in Proposal.objects.all()}


def decide(client, proposal: Proposal, verdict: str, **values):
    return client.post(ADDRESS, {"proposal": proposal.key, "verdict": verdict, "record": "yes", **values})


def test_each_thing_named_is_proposed_once_with_its_sentence(found, client):
    assert set(found) == {"change", "commit", "size", "receipt"}
    assert found["size"].sentence == "It needed 6,713,560,268 bytes."
    page = client.get(ADDRESS).content.decode()
    assert "4 things named in the text wait for a decision" in page
    assert '<form method="post"' not in page


def test_an_accepted_change_points_back_at_its_sentence(found, staff_client):
    assert decide(staff_client, found["change"], "accepted", title="Fix it").status_code == 302
    made = Change.objects.get()
    assert (made.number, made.title, made.stated_in) == (12, "Fix it", "report")
    assert made.sentence.startswith("PR #12 is at")
    assert ProposalDecision.objects.get().made == made.key


def test_an_accepted_commit_becomes_a_head_of_the_chosen_change(found, staff_client):
    decide(staff_client, found["change"], "accepted", title="Fix it")
    change = Change.objects.get()
    decide(staff_client, found["commit"], "accepted", change=change.key, state="open")
    head = ChangeHead.objects.get()
    assert (head.change, head.sha, head.state) == (change, "0123456789abcdef0123456789abcdef01234567", "open")


def test_a_receipt_and_a_size_become_records(found, staff_client):
    decide(staff_client, found["receipt"], "accepted", label="The receipt")
    decide(staff_client, found["size"], "accepted", label="needed", basis="increment")
    receipt, measurement = Receipt.objects.get(), Measurement.objects.get()
    assert (receipt.location, receipt.sha256, receipt.label) == (
        "run/receipt.json",
        "af823635",
        "The receipt",
    )
    assert (measurement.size_bytes, measurement.basis) == (6713560268, "increment")


def test_accepting_takes_what_was_found_whatever_the_form_says(found, staff_client):
    decide(staff_client, found["size"], "accepted", label="needed", size_bytes=5)
    assert Measurement.objects.get().size_bytes == 6713560268


def test_an_edited_one_records_what_the_reviewer_wrote(found, staff_client):
    decide(staff_client, found["size"], "edited", label="needed", size_bytes=5)
    assert Measurement.objects.get().size_bytes == 5
    assert ProposalDecision.objects.get().verdict == "edited"


def test_a_rejected_one_records_only_the_decision(found, staff_client):
    decide(staff_client, found["size"], "rejected")
    assert not Measurement.objects.exists()
    page = staff_client.get(ADDRESS).content.decode()
    assert "3 things named in the text wait" in page
    assert "rejected" in page


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("change", {}, "Title is needed to record it."),
        ("commit", {"change": ""}, "choose the change"),
        ("commit", {"change": "nothing"}, "Select a valid choice"),
        ("size", {"label": "x", "size_bytes": -1}, "greater than or equal to 0"),
        ("receipt", {"label": "x", "sha256": "zz", "location": "y"}, "hexadecimal"),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_recorded(kind, values, said, found, staff_client):
    before = LedgerEntry.objects.count()
    answer = decide(staff_client, found[kind], "edited", **values)
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert LedgerEntry.objects.count() == before


def test_a_second_decision_is_refused(found, staff_client):
    decide(staff_client, found["size"], "rejected")
    answer = decide(staff_client, found["size"], "accepted", label="x")
    assert answer.status_code == 400
    assert ProposalDecision.objects.count() == 1


def test_an_unknown_proposal_is_404(found, staff_client):
    assert staff_client.post(ADDRESS, {"proposal": "x", "verdict": "rejected"}).status_code == 404


def test_strangers_are_asked_to_log_in_and_readers_are_refused(found, client, django_user_model):
    assert decide(client, found["size"], "rejected").status_code == 302
    client.force_login(
        django_user_model.objects.create_user("rita"), backend="django.contrib.auth.backends.ModelBackend"
    )
    assert decide(client, found["size"], "rejected").status_code == 403
    assert not ProposalDecision.objects.exists()


def test_a_form_from_elsewhere_is_refused(found, django_user_model):
    client = Client(enforce_csrf_checks=True)
    client.force_login(
        django_user_model.objects.create_user("sam", is_staff=True),
        backend="django.contrib.auth.backends.ModelBackend",
    )
    assert decide(client, found["size"], "rejected").status_code == 403
    assert not ProposalDecision.objects.exists()


def test_who_decided_stands_in_the_ledger(found, staff_client):
    decide(staff_client, found["size"], "rejected")
    assert LedgerEntry.objects.get(record_type="admission.proposaldecision").actor == "sam"


def test_what_is_recorded_already_is_not_proposed(art_848, tmp_path):
    body = "PR #898 is merged. 68,451,041,280 bytes were held."
    issue = issue_object(body, number=848)
    path = write(tmp_path / "i.json", issue)
    renamed = (tmp_path / "i.json").read_text().replace("octo/cat", "OpenPipe/ART")
    (tmp_path / "i.json").write_text(renamed)
    run("import_issue", path)
    assert not Proposal.objects.exists()
    assert TrackedIssue.objects.count() == 1
