"""Nothing in a thread runs or loads anything in a reader's browser."""

from __future__ import annotations

import pytest

from admission.models import TrackedIssue
from tests.admission.conftest import run
from tests.admission.threads import comment, issue_object, write

HOSTILE = """March 2, 2026 — <script>alert(1)</script> claim.

<script>alert(2)</script> <img src=x onerror=alert(3)> <svg onload=alert(4)>

[click](javascript:alert(5)) ![picture](https://tracker.example/p.png) [plain](https://example.org)

<iframe src="https://example.org"></iframe> <a href="data:text/html,x" onclick="alert(6)">a</a>"""


@pytest.fixture
def page(client, tmp_path, db) -> str:
    thread = [comment(1, HOSTILE), comment(2, "<b onmouseover=alert(1)>x</b>: `<script>`")]
    title = "</script><script>alert(0)</script><b>title</b>"
    arguments = [write(tmp_path / "i.json", issue_object(HOSTILE, title=title, comments=2))]
    run("import_issue", *arguments, "--timeline", write(tmp_path / "t.json", thread))
    issue = TrackedIssue.objects.get()
    addresses = [issue.get_absolute_url(), "/admission/"]
    addresses += [
        f"{issue.get_absolute_url()}{part}" for part in ("s/comment-1/", "s/status-20260302-1/", "proposals/")
    ]
    answers = [client.get(address) for address in addresses]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    assert all("script-src 'self'" in answer["Content-Security-Policy"] for answer in answers)
    return "".join(answer.content.decode() for answer in answers)


def test_no_script_or_handler_of_the_text_survives(page):
    assert "<script>alert" not in page
    assert "onerror=alert(3)&gt;" in page
    for element in ("<iframe", "<svg onload", "<img src=x", "<b onmouseover"):
        assert element not in page


def test_addresses_that_run_something_are_no_links(page):
    assert '<a href="javascript:' not in page
    assert '<a href="data:' not in page


def test_a_picture_is_a_link_and_is_not_loaded(page):
    assert 'src="https://tracker.example' not in page
    assert '<a href="https://tracker.example/p.png" rel="nofollow noopener">picture</a>' in page


def test_outward_links_are_not_followed_or_trusted(page):
    assert '<a href="https://example.org" rel="nofollow noopener">plain</a>' in page
