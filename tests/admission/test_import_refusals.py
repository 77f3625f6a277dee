"""What can't be imported is refused with a sentence, and nothing of it is recorded."""

from __future__ import annotations

import json

import pytest

from admission.models import IssueVersion, StatusUpdate, ThreadItem, TrackedIssue
from rlvram_site.ledger.models import LedgerEntry
from tests.admission.conftest import refusal, run
from tests.admission.threads import comment, issue_object, write, write_pages


@pytest.fixture(autouse=True)
def nothing_recorded(db):
    """Whatever a test refuses leaves the ledger as it was."""
    before = LedgerEntry.objects.count()
    yield
    assert LedgerEntry.objects.count() == before
    assert not TrackedIssue.objects.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"{", "line 1 column 2: not JSON"),
        (b'{"number": NaN}', "NaN is not a number"),
        (b'{"number": 1e999, "title": "x"}', "too large"),
        (b'{"number": ' + b"9" * 5000 + b"}", "5000 digits"),
        (b"\xff\xfe\x00", "is not UTF-16 text"),
        (b"\x80abc", "is not UTF-8 text: byte 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "holds 0 values; expected one issue object"),
        (b'{"message": "Not Found", "status": "404"}', "answer of the API that says 'Not Found'"),
        (b'"text"', "holds 1 values"),
    ],
)
def test_a_file_that_is_no_export_is_refused(content, said, tmp_path):
    path = tmp_path / "issue.json"
    path.write_bytes(content)
    assert said in refusal("import_issue", str(path))


def test_a_missing_file_is_named(tmp_path):
    assert "no.json: No such file" in refusal("import_issue", str(tmp_path / "no.json"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"number": "7"}, "number is '7'"),
        ({"number": 8}, "number is 8, but html_url is"),
        ({"title": ""}, "title is ''"),
        ({"body": ["x"]}, "body is list; expected text or null"),
        ({"created_at": "yesterday"}, "created_at: 'yesterday' is not a time"),
        ({"created_at": "9999-12-31T00:00:00Z"}, "created_at: '9999-12-31T00:00:00Z' is not a time"),
        ({"comments": -1}, "comments is -1"),
        ({"comments": True}, "comments is True"),
        ({"repository_url": "https://api.github.com/repos/octo/dog"}, "names different repositories"),
        ({"html_url": None, "url": 5, "repository_url": ""}, "names a repository"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_what_was_expected(changes, said, tmp_path):
    path = write(tmp_path / "issue.json", issue_object() | changes)
    assert said in refusal("import_issue", path)


def test_a_timeline_without_its_issue_is_recognised(tmp_path):
    path = write_pages(tmp_path / "timeline.json", [[comment(1, "a")], [comment(2, "b")]])
    assert "is a timeline, not an issue" in refusal("import_issue", path)


def test_an_issue_given_as_the_timeline_is_recognised(tmp_path):
    path = write(tmp_path / "issue.json", issue_object())
    assert "--timeline expects its timeline" in refusal("import_issue", path, "--timeline", path)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (comment(2, "b", number=8), "event 2 belongs to octo/cat#8, the issue is octo/cat#7"),
        (comment(2, "b") | {"html_url": "https://github.com/octo/dog/issues/7#issuecomment-2"}, "octo/dog#7"),
        (comment(2, "b") | {"body": 5}, "event 2: body is int"),
        (comment(2, "b") | {"created_at": 5}, "event 2: created_at: 5 is not a time"),
        ({"id": 5}, "event 2: event is None"),
        (5, "event 2: found int; expected an object"),
    ],
)
def test_one_wrong_event_refuses_the_whole_import(item, said, tmp_path):
    issue = write(tmp_path / "issue.json", issue_object())
    timeline = write(tmp_path / "timeline.json", [comment(1, "a"), item])
    assert said in refusal("import_issue", issue, "--timeline", timeline)


class TestAnEditedOrOlderExport:
    @pytest.fixture(autouse=True)
    def nothing_recorded(self, db, tmp_path):
        run("import_issue", write(tmp_path / "1.json", issue_object("one", updated="2026-03-02T10:00:00Z")))
        run("import_issue", write(tmp_path / "2.json", issue_object("two", updated="2026-03-03T10:00:00Z")))
        before = LedgerEntry.objects.count()
        yield
        assert LedgerEntry.objects.count() == before
        assert IssueVersion.objects.count() == 2

    def test_an_older_export_is_refused(self, tmp_path):
        path = write(tmp_path / "x.json", issue_object("one", updated="2026-03-02T10:00:00Z"))
        assert "older than the one already imported" in refusal("import_issue", path)

    def test_an_older_body_under_a_newer_date_is_refused(self, tmp_path):
        path = write(tmp_path / "x.json", issue_object("one", updated="2026-03-04T10:00:00Z"))
        said = refusal("import_issue", path)
        assert "the body is that of version 1" in said
        assert "--put-back" in said

    def test_another_text_under_the_same_date_is_refused(self, tmp_path):
        path = write(tmp_path / "x.json", issue_object("three", updated="2026-03-03T10:00:00Z"))
        assert "their texts differ; one of the files was edited" in refusal("import_issue", path)

    def test_comments_that_come_with_it_are_not_recorded_either(self, tmp_path):
        path = write(tmp_path / "x.json", issue_object("three", updated="2026-03-03T10:00:00Z"))
        refusal("import_issue", path, "--timeline", write(tmp_path / "t.json", [comment(1, "a")]))
        assert not ThreadItem.objects.exists()


class TestHostileButReadable:
    @pytest.fixture(autouse=True)
    def nothing_recorded(self, db):
        """These are imported."""

    def test_characters_that_a_database_refuses_are_replaced(self, tmp_path):
        text = json.dumps(issue_object("a\x00b\ud800c", title="t\x00"))
        (tmp_path / "issue.json").write_text(text)
        run("import_issue", str(tmp_path / "issue.json"))
        assert StatusUpdate.objects.get().body == "a\ufffdb\ufffdc"

    def test_a_body_of_ten_megabytes_is_kept_whole(self, tmp_path, client):
        body = "March 2, 2026 — long.\n\n" + "(" * 3_000_000 + "=" * 3_000_000 + "a." * 2_000_000
        run("import_issue", write(tmp_path / "issue.json", issue_object(body)))
        assert IssueVersion.objects.get().body == body
        issue = TrackedIssue.objects.get()
        page = client.get(issue.get_absolute_url())
        assert page.status_code == 200
        assert len(page.content) < 2_000_000
        status = StatusUpdate.objects.get()
        whole = client.get(f"{status.get_absolute_url()}text/")
        assert whole.content.decode() == status.body
        assert whole["Content-Type"] == "text/plain; charset=utf-8"

    def test_a_thousand_headings_do_not_stop_it(self, tmp_path):
        body = "\n\n".join(f"March 2, 2026 — claim {n}.\n\ntext {n}" for n in range(1000))
        assert "added status updates: 1000" in run(
            "import_issue", write(tmp_path / "issue.json", issue_object(body))
        )
