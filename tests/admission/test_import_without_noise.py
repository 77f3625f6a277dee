"""Importing again records what is news and nothing else, and says where an export contradicts itself."""

from __future__ import annotations

import copy

import pytest

from admission.models import IssueVersion, ThreadCount, ThreadItem, TrackedIssue
from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.ledger.verify import verify_streams
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, write
from tests.admission.unprepared import pull

ADDRESS = "/admission/octo/cat/7/"


@pytest.fixture
def bring(tmp_path, db):
    def import_one(issue: dict, items: list[dict] | None = None) -> list[str]:
        files = [write(tmp_path / "i.json", issue)]
        if items is not None:
            files += ["--timeline", write(tmp_path / "t.json", items)]
        return run("import_issue", *files)

    return import_one


def labelled(colour: str = "red") -> dict:
    return {"event": "labeled", "created_at": "2026-03-02T09:00:00Z",
            "actor": {"login": "bo", "type": "User"},
            "label": {"name": "memory", "color": colour}}  # fmt: skip


def test_an_event_without_an_id_is_matched_by_what_it_is(bring):
    first = [labelled(), pull(3, "Fix", "2026-03-02T10:00:00Z")]
    bring(issue_object("b"), first)
    again = copy.deepcopy(first)
    again[0]["label"]["color"] = "blue"
    again[1]["source"]["issue"]["title"] = "Fix it"
    again[1]["updated_at"] = "2026-03-04T10:00:00Z"
    before = LedgerEntry.objects.count()
    assert bring(issue_object("b"), again)[0] == "octo/cat#7: nothing new"
    assert LedgerEntry.objects.count() == before


def test_two_different_events_without_an_id_stay_two(bring):
    other = {**labelled(), "label": {"name": "speed", "color": "red"}}
    bring(issue_object("b"), [labelled(), other])
    assert ThreadItem.objects.count() == 2


def test_a_newer_updated_at_alone_stores_nothing(bring):
    bring(issue_object("b"), [])
    before = LedgerEntry.objects.count()
    newer = issue_object("b", updated="2026-03-09T10:00:00Z", reactions={"+1": 3})
    assert bring(newer, [])[0] == "octo/cat#7: nothing new"
    assert LedgerEntry.objects.count() == before


def test_a_deleted_comment_is_shown_as_deleted_and_not_counted(bring, client):
    bring(issue_object("b", comments=2), [comment(1, "stays"), comment(2, "goes away")])
    lines = bring(issue_object("b", comments=1, updated="2026-03-05T10:00:00Z"), [comment(1, "stays")])
    assert "added deleted comments: 1" in lines
    assert lines[-1] == "comments: 1 of 1, 0 not in this export"
    page = " ".join(client.get(f"{ADDRESS}timeline/", {"kind": "comment"}).content.decode().split())
    assert "deleted at its source" in page
    assert "goes away" not in page
    assert (
        "goes away"
        in client.get(f"{ADDRESS}timeline/", {"as_of": "2026-03-04", "kind": "comment"}).content.decode()
    )
    assert "goes away" in client.get(f"{ADDRESS}s/comment-2/").content.decode()
    assert bring(issue_object("b", comments=1, updated="2026-03-05T10:00:00Z"), [comment(1, "stays")])[
        0
    ].endswith("nothing new")


def test_a_thread_with_gaps_deletes_nothing(bring):
    bring(issue_object("b", comments=3), [comment(1, "stays"), comment(2, "not in the next export")])
    bring(issue_object("b", comments=3, updated="2026-03-05T10:00:00Z"), [comment(1, "stays")])
    assert not ThreadItem.objects.filter(event="deleted").exists()
    assert ThreadCount.objects.last().missing_comments == 1


def test_a_comment_that_is_back_has_its_words_again(bring, client):
    one, two = comment(1, "stays"), comment(2, "goes and comes")
    bring(issue_object("b", comments=2), [one, two])
    bring(issue_object("b", comments=1, updated="2026-03-05T10:00:00Z"), [one])
    bring(issue_object("b", comments=2, updated="2026-03-06T10:00:00Z"), [one, two])
    assert "goes and comes" in client.get(f"{ADDRESS}timeline/", {"kind": "comment"}).content.decode()
    assert ThreadCount.objects.last().present_comments == 2


def test_a_changed_state_without_an_event_is_a_stated_contradiction(bring, client):
    bring(issue_object("b"), [])
    bring(issue_object("b", state="closed", updated="2026-03-05T10:00:00Z"), [])
    said = "The export of 2026-03-05T10:00:00Z says closed, but no event of the thread closes the issue."
    assert said in client.get(ADDRESS).content.decode()
    assert said not in client.get(ADDRESS, {"as_of": "2026-03-04"}).content.decode()


def test_an_export_without_a_body_records_none(bring):
    bring(issue_object("It breaks."), [])
    partial = {
        key: value
        for key, value in issue_object("x", updated="2026-03-05T10:00:00Z").items()
        if key != "body"
    }
    assert bring(partial)[0].endswith("nothing new")
    bring({**partial, "title": "It breaks often"})
    assert list(IssueVersion.objects.order_by("number").values_list("body", flat=True)) == ["It breaks."] * 2


def test_an_edited_title_is_news(bring):
    bring(issue_object("b"), [])
    assert "added versions: 1" in bring(issue_object("b", title="New", updated="2026-03-05T10:00:00Z"), [])


def test_the_chain_holds_after_all_of_it(bring):
    bring(issue_object("b", comments=1), [comment(1, "x"), labelled()])
    bring(issue_object("b", comments=0, updated="2026-03-05T10:00:00Z"), [labelled("blue")])
    assert TrackedIssue.objects.count() == 1
    assert all(report.ok for report in verify_streams())
