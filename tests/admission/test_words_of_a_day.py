"""As of a day, what was said is shown in the words that were seen or dated by then."""

from __future__ import annotations

import datetime as dt
from urllib.parse import urlencode

import pytest

from admission.models import StatusUpdate, ThreadItem, TrackedIssue
from admission.services.standing import current_status, statuses
from admission.services.timeline import Timeline
from rlvram_site.ledger.verify import verify_streams
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, write
from tests.api.conftest import key_for

ADDRESS = "/admission/octo/cat/7/"
STATUS = "March 2, 2026 — {}.\n\nOne fix is in.\n\n\nEarlier history is preserved below.\n\nIt breaks."


@pytest.fixture
def bring(tmp_path, db):
    """Imports a body and comments as an export of a given moment."""

    def import_one(body: str, updated: str, comments: list[dict] | None = None, **more) -> TrackedIssue:
        issue = issue_object(body, updated=updated, **{"comments": len(comments or []), **more})
        files = [write(tmp_path / "issue.json", issue)]
        if comments is not None:
            files += ["--timeline", write(tmp_path / "timeline.json", comments)]
        run("import_issue", *files)
        return TrackedIssue.objects.get()

    return import_one


def shown(client, as_of: str = "", kind: str = "", part: str = "timeline/") -> str:
    answer = client.get(ADDRESS + part, {"as_of": as_of, "kind": kind})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_comment_edited_between_two_imports_has_its_earlier_text_on_the_earlier_day(bring, client):
    bring("b", "2026-03-02T10:00:00Z", [comment(1, "first words")])
    edited = comment(1, "second words", updated_at="2026-03-05T12:00:00Z")
    bring("b", "2026-03-06T10:00:00Z", [edited])
    before, after = shown(client, "2026-03-04"), shown(client, "2026-03-05")
    assert "first words" in before
    assert "second words" not in before
    assert "second words" in after
    assert "first words" not in after
    assert "edited, these words since" in after
    assert "2026-03-05 12:00:00" in after


def test_an_edit_without_its_own_time_counts_from_the_export_that_shows_it(bring):
    bring("b", "2026-03-02T10:00:00Z", [comment(1, "first words")])
    issue = bring("b", "2026-03-06T10:00:00Z", [comment(1, "second words")])
    said = {day: Timeline(issue, dt.date(2026, 3, day), "comment")[0:1][0].body for day in (3, 5, 6)}
    assert said == {3: "first words", 5: "first words", 6: "second words"}


def test_a_comment_that_was_edited_before_the_first_import_says_that_its_text_is_not_kept(bring, client):
    bring("b", "2026-03-06T10:00:00Z", [comment(1, "second words", updated_at="2026-03-05T12:00:00Z")])
    before = shown(client, "2026-03-03")
    assert "edited later, earlier text not kept" in before
    assert "second words" not in before
    assert "second words" in shown(client, "2026-03-05")


def test_the_api_tells_the_same_words(bring):
    bring("b", "2026-03-06T10:00:00Z", [comment(1, "second words", updated_at="2026-03-05T12:00:00Z")])
    reader = key_for("read")
    (early,) = reader.get("admission/issues/octo/cat/7/thread/?as_of=2026-03-03").json()["results"]
    (late,) = reader.get("admission/issues/octo/cat/7/thread/?as_of=2026-03-05").json()["results"]
    assert (early["kept"], early["body"]) == (False, "")
    assert (late["kept"], late["body"]) == (True, "second words")


def test_a_report_whose_body_was_edited_since_says_so_before(bring, client):
    bring(STATUS.format("solved"), "2026-03-06T10:00:00Z")
    before = shown(client, "2026-03-01", part="")
    assert "Edited later, earlier text not kept" in before
    assert "Open: original report" in before
    assert "It breaks." not in before.partition("Everything in time")[0]


def test_a_body_that_nobody_edited_is_shown_from_its_first_day(bring, client):
    bring("It breaks.", "2026-03-06T10:00:00Z", [comment(1, "me too")])
    assert "It breaks." in shown(client, "2026-03-01")


def test_a_status_reworded_later_keeps_its_old_wording_on_its_old_day(bring, client):
    bring(STATUS.format("half solved"), "2026-03-02T10:00:00Z")
    issue = bring(STATUS.format("half solved").replace("One fix", "Two fixes"), "2026-03-09T10:00:00Z")
    assert StatusUpdate.objects.filter(revises__isnull=False).count() == 1
    assert "One fix is in." in shown(client, "2026-03-08")
    assert "Two fixes" not in shown(client, "2026-03-08")
    assert "Two fixes is in." in shown(client, "2026-03-09")
    assert current_status(statuses(issue)).update.revises is not None


def test_a_statement_dated_ahead_is_flagged_and_never_holds(bring, client):
    bring(f"April 9, 2026 — all solved.\n\nSoon.\n\n\n{STATUS.format('half solved')}", "2026-03-03T10:00:00Z")
    for day in ("", "2026-03-03", "2026-04-09", "2026-06-01"):
        page = shown(client, day, part="")
        assert "Open: half solved, since March 2, 2026" in page
    assert "“all solved.” is dated" in shown(client, part="")
    assert "dated ahead: never what holds" in shown(client, kind="status")


def test_a_statement_that_still_stands_once_its_day_has_come_counts_from_then(bring):
    ahead = f"March 9, 2026 — all solved.\n\nSoon.\n\n\n{STATUS.format('half solved')}"
    bring(ahead, "2026-03-03T10:00:00Z")
    issue = bring(ahead, "2026-03-10T10:00:00Z")
    assert current_status(statuses(issue)).claim == "all solved."
    assert current_status(statuses(issue, dt.date(2026, 3, 8))).claim == "half solved."


def test_a_verdict_dated_ahead_does_not_stand(art_848):
    from admission.models import Review
    from admission.services.changes import change_rows
    from admission.services.recording import record_row

    change = art_848.change_rows.get(number=971)
    review = Review(change=change, head_sha="0123abcd", reviewer="Ada", verdict="clear")
    record_row(art_848, review, "review", "2199-01-01")
    (row,) = [row for row in change_rows(art_848) if row.change.number == 971]
    assert row.heads[-1].verdict == ""
    assert row.heads[-1].verdicts[0].fate == "dated ahead"


@pytest.mark.parametrize(
    ("as_of", "claim"),
    [
        ("2026-03-05T13:59:00Z", "half solved."),
        ("2026-03-05T14:02:00Z", "solved"),
        ("2026-03-05T15:30:00+02:00", "half solved."),
        ("2026-03-05", "solved"),
    ],
)
def test_a_time_of_a_day_counts_to_the_minute(as_of, claim, bring):
    body = f"March 5, 2026, 14:00 UTC — solved\n\nDone.\n\n\n{STATUS.format('half solved')}"
    bring(body, "2026-03-06T10:00:00Z")
    answer = key_for("read").get(f"admission/issues/octo/cat/7/?{urlencode({'as_of': as_of})}")
    assert answer.json()["current_status"]["claim"] == claim


def test_one_and_the_same_refusal_everywhere(bring, client):
    bring("b", "2026-03-02T10:00:00Z", [])
    reader = key_for("read")
    said = {
        client.get(f"{ADDRESS}{part}", {"as_of": "soon"}).status_code
        for part in ("", "changes/", "witnesses/")
    }
    assert said == {400}
    messages = set()
    for path in ("", "thread/", "heads/", "witnesses/", "open-questions/"):
        answer = reader.get(f"admission/issues/octo/cat/7/{path}?as_of=soon")
        assert answer.status_code == 400
        messages |= {field["message"] for field in answer.json()["error"]["fields"]}
    assert len(messages) == 1
    assert messages.pop() in shown_anyway(client)


def shown_anyway(client) -> str:
    return client.get(ADDRESS, {"as_of": "soon"}).content.decode()


def test_what_was_recorded_stays_whole(bring):
    bring("b", "2026-03-02T10:00:00Z", [comment(1, "first words")])
    bring("b", "2026-03-06T10:00:00Z", [comment(1, "second words", updated_at="2026-03-05T12:00:00Z")])
    assert list(ThreadItem.objects.order_by("id").values_list("body", flat=True)) == [
        "first words",
        "second words",
    ]
    assert all(report.ok for report in verify_streams())
