"""Importing the thread of OpenPipe/ART #848, counted by hand.

Hand count of its body and timeline: nine dated status updates (September 25, 23, 22, 21, 18 and 17, and three
of September 12) above the report of September 4; 21 comments, of which one (September 10) says where the
issue
stands; one event, the renaming; and one gap, since the issue counts 28 comments.
"""

from __future__ import annotations

import datetime as dt

import pytest

from admission.models import IssueEvent, IssueVersion, Proposal, StatusUpdate, ThreadItem, TrackedIssue
from admission.services.standing import (
    current_status,
    lifecycle,
    statuses,
    superseded_by_current,
    thread_count,
)
from rlvram_site.ledger.verify import verify_streams
from tests.admission.conftest import run
from tests.admission.threads import long_running_thread

STATUS_UPDATES, REPORTS, COMMENTS, EVENTS, MISSING = 10, 1, 21, 1, 7


@pytest.fixture
def issue(db) -> TrackedIssue:
    thread = long_running_thread()
    run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    return TrackedIssue.objects.get()


def test_everything_in_the_thread_is_counted(issue):
    kinds = list(StatusUpdate.objects.values_list("kind", flat=True))
    assert (kinds.count("update"), kinds.count("report")) == (STATUS_UPDATES, REPORTS)
    assert ThreadItem.objects.filter(kind="comment").count() == COMMENTS
    assert ThreadItem.objects.filter(kind="event").count() == EVENTS
    count = thread_count(issue)
    assert (count.declared_comments, count.present_comments, count.missing_comments) == (
        28,
        COMMENTS,
        MISSING,
    )


def test_the_command_says_what_it_did_and_what_is_missing(db):
    thread = long_running_thread()
    lines = run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    assert lines[0] == "OpenPipe/ART#848: recorded"
    assert "added comments: 21" in lines
    assert "added status updates: 11" in lines
    assert lines[-1] == "comments: 21 of 28, 7 not in this export"


def test_the_current_status_is_that_of_september_25(issue):
    standing = statuses(issue)
    current = current_status(standing)
    assert current.update.stated_day == dt.date(2026, 9, 25)
    assert current.update.claim.startswith("merged corrections")
    assert superseded_by_current(standing).update.stated_day == dt.date(2026, 9, 23)


def test_each_status_supersedes_the_one_before_it(issue):
    standing = statuses(issue)
    days = [status.update.stated_day.day for status in standing]
    assert days == [25, 23, 22, 21, 18, 17, 12, 12, 12, 10, 4]
    assert [status.superseded_by for status in standing] == [None, *(s.update for s in standing[:-1])]


def test_the_three_statuses_of_september_12_keep_the_order_in_which_they_were_added(issue):
    twelfth = [s.update for s in statuses(issue) if s.update.stated_day == dt.date(2026, 9, 12)]
    assert [status.heading[:20] for status in twelfth] == [
        "September 12 adoptio", "September 12 update:", "Status reconciliatio",
    ]  # fmt: skip
    assert twelfth[-1].signed_name == "Schulman"


def test_dates_keep_the_precision_that_was_given(issue):
    by_day = {s.update.stated_day.day: s.update for s in statuses(issue)}
    assert (by_day[18].stated_precision, by_day[18].stated_words) == (
        "part_of_day", "September 18, 2026, late evening Mountain",
    )  # fmt: skip
    assert by_day[18].sort_at == dt.datetime(2026, 9, 19, 4, 30, tzinfo=dt.UTC)
    assert by_day[21].stated_precision == "minute"
    assert by_day[21].sort_at == dt.datetime(2026, 9, 21, 12, 35, 30, tzinfo=dt.UTC)
    assert by_day[25].stated_precision == "day"


def test_midnight_everywhere_means_that_only_days_are_known(issue):
    assert set(ThreadItem.objects.values_list("stated_precision", flat=True)) == {"day"}


def test_on_september_17_the_issue_was_reopened_and_that_day_s_status_held(issue, client):
    answer = client.get(issue.get_absolute_url(), {"as_of": "2026-09-17"})
    page = answer.content.decode()
    assert current_status(statuses(issue, dt.date(2026, 9, 17))).update.stated_day == dt.date(2026, 9, 17)
    assert "What holds on September 17, 2026" in page
    assert "#907" in page
    assert "merged corrections" not in page


def test_investigators_who_sign_are_named_beside_the_account(issue):
    signed = [
        item.signed_name for item in ThreadItem.objects.filter(kind="comment").order_by("sort_at", "id")
    ]
    assert signed.count("") == 3
    assert {"Schulman", "McCarthy", "Minsky", "Thanos"} == set(signed) - {""}
    assert set(ThreadItem.objects.values_list("account", flat=True)) == {"bradhilton"}


def test_the_title_s_history_is_kept(issue):
    renamed = IssueEvent.objects.get(kind="renamed")
    assert renamed.after == lifecycle(issue).title
    assert lifecycle(issue, dt.date(2026, 9, 5)).title == renamed.before


def test_text_becomes_proposals_and_no_records(issue):
    found = Proposal.objects.get(kind="size", value={"size_bytes": 3526709248})
    assert found.stated_in == "status-20260925-1"
    assert "3,526,709,248" in found.sentence
    assert Proposal.objects.filter(kind="receipt", value__sha256="af823635").exists()
    assert not issue.change_rows.exists()
    assert not issue.receipt_rows.exists()


def test_importing_the_same_files_again_changes_nothing(issue):
    before = {stream.head.stream: stream.head for stream in verify_streams()}
    thread = long_running_thread()
    lines = run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    assert lines[0] == "OpenPipe/ART#848: nothing new"
    assert {stream.head.stream: stream.head for stream in verify_streams()} == before
    assert IssueVersion.objects.count() == 1


def test_the_chain_holds(issue):
    assert all(report.ok for report in verify_streams("issue/OpenPipe/ART/848"))
