"""A newer export adds what is new; what was recorded before stays."""

from __future__ import annotations

import pytest

from admission.models import IssueVersion, StatusUpdate, ThreadCount, ThreadItem, TrackedIssue
from admission.services.standing import current_status, statuses
from admission.services.timeline import Timeline
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, write

FIRST = (
    "March 2, 2026 — half solved.\n\nOne fix is in.\n\n\nEarlier history is preserved below.\n\nIt breaks."
)
SECOND = f"March 5, 2026 — solved.\n\nAll fixes are in.\n\n\nEarlier status below is preserved:\n\n{FIRST}"


@pytest.fixture
def bring(tmp_path, db):
    """Imports a body (and comments) as an export of a given moment."""

    def import_one(body: str, updated: str, comments: list[dict] | None = None, **more) -> list[str]:
        issue = issue_object(body, updated=updated, comments=len(comments or []), **more)
        arguments = [write(tmp_path / "issue.json", issue)]
        if comments is not None:
            arguments += ["--timeline", write(tmp_path / "timeline.json", comments)]
        return run("import_issue", *arguments)

    return import_one


def test_a_newer_body_adds_its_status_and_keeps_the_earlier_version(bring):
    bring(FIRST, "2026-03-02T10:00:00Z")
    lines = bring(SECOND, "2026-03-05T10:00:00Z")
    assert "added status updates: 1" in lines
    assert list(IssueVersion.objects.order_by("number").values_list("body", flat=True)) == [FIRST, SECOND]


def test_a_statement_preserved_under_earlier_history_is_recognised(bring):
    bring(FIRST, "2026-03-02T10:00:00Z")
    lines = bring(SECOND, "2026-03-05T10:00:00Z")
    assert "recognised status updates: 2" in lines
    assert [s.update.claim for s in statuses(TrackedIssue.objects.get())] == [
        "solved.", "half solved.", "original report",
    ]  # fmt: skip


def test_a_preserved_statement_may_be_indented_and_quoted(bring):
    bring(FIRST, "2026-03-02T10:00:00Z")
    quoted = SECOND.replace("One fix is in.", "> One  fix\n> is in.")
    assert "recognised status updates: 2" in bring(quoted, "2026-03-05T10:00:00Z")


def test_a_statement_whose_words_changed_is_a_revision_of_the_recorded_one(bring):
    bring(FIRST, "2026-03-02T10:00:00Z")
    lines = bring(SECOND.replace("One fix is in.", "Two fixes are in."), "2026-03-05T10:00:00Z")
    assert "added revised status updates: 1" in lines
    revised = StatusUpdate.objects.get(revises__isnull=False)
    assert (revised.revises.body.split("\n")[0], revised.body.split("\n")[0]) == (
        "One fix is in.", "Two fixes are in.",
    )  # fmt: skip
    assert len(statuses(TrackedIssue.objects.get())) == 3


def test_a_statement_that_a_newer_body_drops_is_kept(bring):
    bring(FIRST, "2026-03-02T10:00:00Z")
    bring(
        "March 5, 2026 — solved.\n\nAll is well.\n\nHistorical report (preserved):\n\nIt breaks.",
        "2026-03-05T10:00:00Z",
    )
    assert [s.update.claim for s in statuses(TrackedIssue.objects.get())][1] == "half solved."


def test_an_edited_comment_is_a_new_row_and_the_timeline_shows_its_last_words(bring):
    bring(FIRST, "2026-03-02T10:00:00Z", [comment(1, "first words")])
    lines = bring(FIRST, "2026-03-03T10:00:00Z", [comment(1, "second words")])
    bring(FIRST, "2026-03-04T10:00:00Z", [comment(1, "third words")])
    assert "added edited comments: 1" in lines
    assert ThreadItem.objects.count() == 3
    shown = Timeline(TrackedIssue.objects.get(), kind="comment")[0:10]
    assert [entry.body for entry in shown] == ["third words"]


def test_a_later_export_can_fill_a_gap(bring):
    bring(FIRST, "2026-03-02T10:00:00Z", [comment(1, "one")])
    issue = issue_object(FIRST)
    assert ThreadCount.objects.last().missing_comments == 0
    bring(FIRST, "2026-03-03T10:00:00Z", [comment(1, "one"), comment(3, "three")], title="It breaks")
    assert ThreadCount.objects.last().present_comments == 2
    assert issue["number"] == 7


def test_without_a_timeline_all_comments_are_missing(bring, tmp_path):
    lines = run("import_issue", write(tmp_path / "one.json", issue_object(comments=4)))
    assert lines[-1] == "comments: 0 of 4, 4 not in this export"


def test_a_body_that_was_really_put_back_can_be_taken(bring, tmp_path):
    bring(FIRST, "2026-03-02T10:00:00Z")
    bring(SECOND, "2026-03-05T10:00:00Z")
    path = write(tmp_path / "back.json", issue_object(FIRST, updated="2026-03-06T10:00:00Z"))
    run("import_issue", path, "--put-back")
    assert IssueVersion.objects.count() == 3
    assert current_status(statuses(TrackedIssue.objects.get())).update.claim == "solved."


def test_names_of_owner_and_repository_do_not_distinguish_case(bring, tmp_path):
    bring(FIRST, "2026-03-02T10:00:00Z")
    text = write(tmp_path / "case.json", issue_object(FIRST))
    data = (tmp_path / "case.json").read_text().replace("octo/cat", "Octo/Cat")
    (tmp_path / "case.json").write_text(data)
    assert run("import_issue", text)[0] == "octo/cat#7: recorded"
    assert TrackedIssue.objects.count() == 1
