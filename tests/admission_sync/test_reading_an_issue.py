"""An issue is read from the forge: completely, again without noise, and with the changes that it links."""

from __future__ import annotations

import pytest
from django.core.management import CommandError

from admission.models import Change, ChangeHead, Followed, Review, StatusUpdate, ThreadItem, TrackedIssue
from admission.services.changes import change_rows
from admission.sync import following
from admission.sync.forge import Forge
from rlvram_site.ledger.verify import verify_streams
from tests.admission.conftest import run
from tests.admission_sync.forge import SHA, refuses

pytestmark = pytest.mark.django_db
COMMENT = ThreadItem.Kind.COMMENT


def read(address: str = "octo/cat#7") -> str:
    followed = following.follow(following.address_here(address), by="test")
    forge = Forge()
    with forge.connected():
        return following.sync(followed, forge)


def test_an_issue_arrives_with_its_whole_timeline(forge):
    forge.page_size = 2
    for number in range(1, 6):
        forge.comment(number, f"Comment {number}")
    assert run("sync_issues", f"https://{forge.host}/octo/cat/issues/7") == [
        "octo/cat#7: addresses: 1, comment counts: 1, comments: 5, "
        "issue events: 1, status updates: 1, versions: 1."
    ]
    bodies = ThreadItem.objects.filter(kind=COMMENT).order_by("id").values_list("body", flat=True)
    assert list(bodies) == [f"Comment {number}" for number in range(1, 6)]
    assert forge.statuses("timeline") == [200, 200, 200]
    assert Followed.objects.get().issue == TrackedIssue.objects.get()


def test_again_everything_is_asked_conditionally_and_nothing_is_recorded(forge):
    forge.comment(1, "First")
    read()
    before = sum(report.head.sequence for report in verify_streams())
    forge.requests.clear()
    assert read() == "octo/cat#7: nothing new."
    assert set(forge.statuses()) == {304}
    assert sum(report.head.sequence for report in verify_streams()) == before


def test_only_what_is_new_is_recorded(forge):
    forge.comment(1, "First")
    read()
    forge.comment(2, "Second", at="2026-03-03T08:00:00Z")
    read()
    assert ThreadItem.objects.filter(kind=COMMENT).count() == 2
    forge.timeline()[0]["body"] = "First, edited"
    forge.documents["/repos/octo/cat/issues/7"]["updated_at"] = "2026-03-04T00:00:00Z"
    read()
    assert ThreadItem.objects.get(revises__isnull=False).body == "First, edited"
    assert all(report.ok for report in verify_streams())


def test_a_body_that_was_put_back_is_no_contradiction(forge):
    first = forge.issue(body="Status 1: broken")
    read()
    for day, body in ((5, "Status 2: mended"), (6, first["body"])):
        forge.issue(body=body, updated_at=f"2026-03-0{day}T00:00:00Z")
        read()
    assert TrackedIssue.objects.get().issueversion_rows.count() == 3
    assert Followed.objects.get().problem == ""


def test_a_linked_pull_request_comes_with_heads_checks_and_reviews(forge):
    forge.link(9)
    forge.pull(9, SHA["one"])
    forge.check(SHA["one"], "success")
    forge.review(501, "APPROVED", SHA["one"])
    forge.review(502, "COMMENTED", SHA["one"], login="eve")
    read()
    (row,) = change_rows(TrackedIssue.objects.get())
    assert (row.change.label, row.change.title) == ("#9", "Mend it")
    assert [(h.sha, h.state, h.checks) for h in row.stated] == [(SHA["one"], "open", "green")]
    assert [(r.reviewer, r.verdict, r.head_sha) for r in Review.objects.all()] == [
        ("dee", "clear", SHA["one"])
    ]
    assert row.standing_verdict == "clear"


def test_a_new_head_is_a_new_fact_and_has_no_verdict(forge):
    forge.link(9)
    forge.pull(9, SHA["one"])
    forge.review(501, "APPROVED", SHA["one"])
    read()
    forge.pull(9, SHA["two"], updated_at="2026-03-05T00:00:00Z")
    forge.check(SHA["two"], "failure")
    forge.check(SHA["two"], None)
    read()
    (row,) = change_rows(TrackedIssue.objects.get())
    assert [(head.sha, head.checks) for head in row.stated] == [
        (SHA["one"], "unstated"),
        (SHA["two"], "failed"),
    ]
    assert row.standing_verdict == ""


def test_checks_that_end_and_a_merge_are_stated_in_turn(forge):
    forge.link(9)
    forge.pull(9)
    forge.check(SHA["one"], None)
    read()
    runs = forge.documents[f"/repos/octo/cat/commits/{SHA['one']}/check-runs"]["check_runs"]
    runs[0] |= {"status": "completed", "conclusion": "success", "completed_at": "2026-03-02T09:30:00Z"}
    read()
    forge.pull(
        9, state="closed", merged_at="2026-03-03T12:00:00Z", closed_at="2026-03-03T12:00:00Z",
        merge_commit_sha=SHA["merge"], updated_at="2026-03-04T12:00:00Z",
    )  # fmt: skip
    read()
    read()
    stated = ChangeHead.objects.order_by("sort_at", "id").values_list("state", "checks", "merged_sha")
    assert list(stated) == [
        ("open", "running", ""), ("open", "green", ""), ("merged", "green", SHA["merge"]),
    ]  # fmt: skip
    assert f"{ChangeHead.objects.latest('sort_at').sort_at:%Y-%m-%d %H:%M}" == "2026-03-03 12:00"


def test_a_dismissed_review_withdraws_its_verdict(forge):
    forge.link(9)
    forge.pull(9)
    forge.review(501, "CHANGES_REQUESTED", SHA["one"])
    read()
    forge.review(501, "DISMISSED", SHA["one"])
    read()
    read()
    assert list(Review.objects.order_by("id").values_list("verdict", flat=True)) == [
        "changes_required", "withdrawn",
    ]  # fmt: skip
    (row,) = change_rows(TrackedIssue.objects.get())
    assert row.standing_verdict == ""


def test_what_people_decided_is_not_undone(forge):
    forge.link(9)
    forge.pull(9)
    read()
    issue = TrackedIssue.objects.get()
    held = ChangeHead(change=Change.objects.get(), sha=SHA["one"][:9], state="held")
    from admission.services.recording import record_row

    record_row(issue, held, "head", "2026-03-03")
    forge.check(SHA["one"], "success")
    read()
    read()
    (row,) = change_rows(issue)
    assert (row.state.state, row.state.checks) == ("held", "green")
    assert len(row.stated) == 3


def test_a_pull_request_that_cannot_be_seen_keeps_nothing_from_being_read(forge):
    forge.link(9)
    read()
    assert TrackedIssue.objects.get().threaditem_rows.count() == 1
    forge.pull(9)
    forge.trouble("check-runs", refuses(403, "Resource not accessible"))
    read()
    assert ChangeHead.objects.get().checks == "unstated"


def test_the_forge_is_only_read_and_gets_the_token(forge, settings):
    settings.FORGE_TOKEN = "secret-token"
    forge.link(9)
    forge.pull(9)
    read()
    assert {request.method for request in forge.requests} == {"GET"}
    assert {request.authorization for request in forge.requests} == {"token secret-token"}


def test_a_status_in_the_body_is_what_holds(forge):
    forge.issue(body="## Update (2026-03-02)\n\nResolved by #9.")
    read()
    assert StatusUpdate.objects.filter(kind="update").count() == 1


def test_what_is_no_address_is_refused_before_anything_is_asked(forge):
    for wrong in (
        "https://example.org/octo/cat/issues/7",
        "octo",
        f"https://{forge.host}/octo/cat/wiki",
        "a/b#0",
    ):
        with pytest.raises(CommandError):
            run("sync_issues", wrong)
    assert forge.requests == []
    assert not Followed.objects.exists()


def test_following_ends_and_the_records_stay(forge):
    run("sync_issues", "octo/cat#7")
    assert "octo/cat#7: due" in run("sync_issues", "--list")[0]
    run("sync_issues", "--stop", "octo/cat#7")
    assert not Followed.objects.exists()
    assert TrackedIssue.objects.count() == 1
