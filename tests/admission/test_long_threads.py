"""Ten thousand comments: pages cost the same queries as with ten, and the import is one pass."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from admission.models import ThreadItem, TrackedIssue
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, write, write_pages

PARTS = (
    "", "?as_of=2026-03-02", "timeline/", "timeline/?page=2", "timeline/?kind=comment&page=3",
    "timeline/?q=run", "proposals/", "changes/",
)  # fmt: skip


@pytest.fixture
def bring(tmp_path):
    def import_thread(comments: int, number: int) -> TrackedIssue:
        items = [
            comment(n, f"Ada: run {n} took {n + 100_000:,} bytes.", number=number,
                    at=f"2026-03-02T{n // 60 % 24:02d}:{n % 60:02d}:00Z")
            for n in range(1, comments + 1)
        ]  # fmt: skip
        issue = write(tmp_path / "issue.json", issue_object(comments=comments, number=number))
        timeline = write_pages(
            tmp_path / "timeline.json", [items[n : n + 100] for n in range(0, comments, 100)]
        )
        run("import_issue", issue, "--timeline", timeline)
        return TrackedIssue.objects.get(number=number)

    return import_thread


def queries(client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_ten_thousand_comments_cost_no_more_queries_than_a_hundred(bring, client, db):
    small, large = bring(200, 1), bring(10_000, 2)
    assert ThreadItem.objects.filter(issue=large).count() == 10_000
    for part in PARTS:
        assert queries(client, f"{large.get_absolute_url()}{part}") == queries(
            client, f"{small.get_absolute_url()}{part}"
        ), part


def test_importing_them_takes_queries_by_the_batch_not_by_the_comment(bring, db):
    with CaptureQueriesContext(connection) as captured:
        bring(2_000, 3)
    assert len(captured) < 400


def test_the_last_page_holds_the_first_comment(bring, client, db):
    issue = bring(200, 4)
    page = client.get(f"{issue.get_absolute_url()}timeline/", {"kind": "comment", "page": 5}).content.decode()
    assert 'id="comment-1"' in page
    assert "161–200 of 200 statements" in page
