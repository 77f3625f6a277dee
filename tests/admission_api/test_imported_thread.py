"""An imported thread through the API: comments, events, gaps, versions, proposals, and long texts."""

from __future__ import annotations

import pytest

from admission.models import Proposal, ThreadItem, TrackedIssue
from admission.services.timeline import BODY_SHOWN
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, other_project, write
from tests.api.conftest import key_for


@pytest.fixture
def reader(db):
    return key_for("read")


def table(reader, issue: TrackedIssue, name: str, query: str = "") -> list[dict]:
    address = "/".join(str(part) for part in issue.address)
    answer = reader.get(f"admission/issues/{address}/{name}/?page_size=1000{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_another_projects_thread_reads_item_by_item(reader):
    thread = other_project()
    run("import_issue", str(thread.issue), "--timeline", str(thread.timeline))
    issue = TrackedIssue.objects.get()
    items = table(reader, issue, "thread")
    assert len(items) == ThreadItem.objects.count() > 0
    comments = table(reader, issue, "thread", "&kind=comment")
    assert {row["event"] for row in comments} == {"commented"}
    assert len(comments) == sum(row["kind"] == "comment" for row in items)
    account = comments[0]["account"]
    assert {row["account"] for row in table(reader, issue, "thread", f"&account={account}")} == {account}
    (version,) = table(reader, issue, "versions")
    assert version["body_length"] == len(issue.issueversion_rows.get().body)
    assert len(table(reader, issue, "gaps")) == 1
    proposals = table(reader, issue, "proposals")
    assert len(proposals) == Proposal.objects.count() > 0
    assert table(reader, issue, "proposals", "&decided=false") == proposals
    assert table(reader, issue, "proposals", "&decided=true") == []
    assert {(row["verdict"], row["made"]) for row in proposals} == {(None, None)}


def test_a_long_comment_is_cut_in_the_table_and_whole_at_its_own_address(reader, tmp_path):
    body = "Ada: " + "x" * BODY_SHOWN
    issue_file = write(tmp_path / "issue.json", issue_object(comments=1))
    timeline = write(tmp_path / "timeline.json", [comment(1, body)])
    run("import_issue", issue_file, "--timeline", timeline)
    issue = TrackedIssue.objects.get()
    (row,) = table(reader, issue, "thread")
    assert (len(row["body"]), row["body_length"]) == (BODY_SHOWN, len(body))
    whole = reader.get(f"admission/issues/octo/cat/7/statements/{row['key']}/").json()
    assert whole["record"]["body"] == body
    assert whole["section"] == "thread_items"


def test_markup_in_a_comment_arrives_as_text(reader, tmp_path):
    body = "<script>alert(1)</script>"
    issue_file = write(tmp_path / "issue.json", issue_object(comments=1))
    run("import_issue", issue_file, "--timeline", write(tmp_path / "timeline.json", [comment(1, body)]))
    answer = reader.get("admission/issues/octo/cat/7/thread/")
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer.json()["results"][0]["body"] == body
