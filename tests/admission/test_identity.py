"""An issue is its host, repository and number, and the forge's own id; not a name alone."""

from __future__ import annotations

import json

import pytest

from admission.models import IssueAddress, TrackedIssue
from admission.services.importing import import_thread
from admission.thread.export import read_issue
from rlvram_site.ledger.verify import verify_streams
from tests.admission.conftest import refusal, run
from tests.admission.threads import comment, issue_object, write
from tests.api.conftest import key_for

HOST = "git.example.com"


def enterprise(body: str = "Ours, see #5 and 0123abc4.", **more) -> dict:
    """An issue of the same name and number on a GitHub Enterprise server."""
    return issue_object(body, **{
        "url": f"https://{HOST}/api/v3/repos/octo/cat/issues/7",
        "html_url": f"https://{HOST}/octo/cat/issues/7",
        "repository_url": f"https://{HOST}/api/v3/repos/octo/cat",
        **more,
    })  # fmt: skip


@pytest.fixture
def both(tmp_path, db):
    run("import_issue", write(tmp_path / "public.json", issue_object("Theirs, see #5.", id=111)))
    run("import_issue", write(tmp_path / "own.json", enterprise(id=222)))


def test_an_export_of_an_enterprise_server_is_another_issue(both):
    assert [str(issue) for issue in TrackedIssue.objects.order_by("id")] == [
        "octo/cat#7",
        f"{HOST}/octo/cat#7",
    ]
    assert {r.head.stream for r in verify_streams("issue/")} == {
        "issue/octo/cat/7", f"issue/{HOST}/octo/cat/7"
    }  # fmt: skip


@pytest.mark.parametrize("part", ["", "changes/", "witnesses/", "receipts/", "proposals/", "s/report/"])
def test_each_has_its_own_pages_and_links_lead_to_its_own_host(part, both, client):
    own = client.get(f"/admission/{HOST}/octo/cat/7/{part}").content.decode()
    public = client.get(f"/admission/octo/cat/7/{part}").content.decode()
    assert f"/admission/{HOST}/octo/cat/7/" in own
    assert "github.com/octo" not in own
    assert HOST not in public
    if part in ("", "s/report/"):
        assert f'href="https://{HOST}/octo/cat/issues/5"' in own
        assert 'href="https://github.com/octo/cat/issues/5"' in public


def test_the_api_has_both(both):
    reader = key_for("read")
    found = [row["sentence"] for row in reader.get("admission/issues/").json()["results"]]
    assert len(found) == 2
    assert reader.get(f"admission/issues/{HOST}/octo/cat/7/").json()["url"].startswith(f"https://{HOST}/")
    assert reader.get(f"admission/issues/{HOST}/octo/cat/7/status-updates/").status_code == 200
    only = reader.get(f"admission/issues/?host={HOST}").json()["results"]
    assert [row["host"] for row in only] == [HOST]


def test_a_timeline_of_the_other_host_is_refused(db, tmp_path):
    timeline = write(tmp_path / "t.json", [comment(1, "from github.com")])
    said = refusal("import_issue", write(tmp_path / "own.json", enterprise()), "--timeline", timeline)
    assert f"belongs to octo/cat#7 at github.com, the issue is octo/cat#7 at {HOST}" in said


def test_a_file_that_names_two_hosts_is_refused(db, tmp_path):
    mixed = enterprise(html_url="https://github.com/octo/cat/issues/7")
    assert "names different hosts" in refusal("import_issue", write(tmp_path / "i.json", mixed))


def test_a_transferred_issue_is_one_issue_with_two_addresses(db, tmp_path, client):
    run("import_issue", write(tmp_path / "a.json", issue_object("It breaks.", id=111)))
    text = json.dumps(issue_object("It breaks.", id=111, updated="2026-03-09T10:00:00Z"))
    moved = (
        text.replace("octo/cat", "octo/dog")
        .replace("issues/7", "issues/12")
        .replace('"number": 7', '"number": 12')
    )
    (tmp_path / "b.json").write_text(moved)
    run("import_issue", str(tmp_path / "b.json"))
    issue = TrackedIssue.objects.get()
    assert [row.label for row in IssueAddress.objects.order_by("id")] == ["octo/cat#7", "octo/dog#12"]
    for address in ("/admission/octo/cat/7/", "/admission/octo/dog/12/"):
        page = client.get(address)
        assert page.context["issue"] == issue
        assert "octo/dog#12" in page.content.decode()


def test_a_redirect_that_somebody_followed_adds_the_new_address(db, tmp_path):
    run("import_issue", write(tmp_path / "a.json", issue_object("It breaks.")))
    known = TrackedIssue.objects.get()
    text = json.dumps(issue_object("It breaks.", id=5)).replace("octo/cat", "octo/dog")
    import_thread(read_issue(text, "b.json"), known_as=known)
    assert TrackedIssue.objects.count() == 1
    assert IssueAddress.objects.get().label == "octo/dog#7"


def test_another_issue_under_an_old_name_is_not_mistaken_for_it(db, tmp_path):
    """The forge's id decides: a repository made anew under the old name starts its numbers again."""
    run("import_issue", write(tmp_path / "a.json", issue_object("It breaks.", id=111)))
    said = refusal(
        "import_issue",
        write(tmp_path / "b.json", issue_object("Other.", id=999, updated="2026-03-09T10:00:00Z")),
    )
    assert "id 999" in said
    assert "111" in said


def test_an_enterprise_issue_moves_to_another_site_with_its_host(both, tmp_path):
    path = tmp_path / "own.json.record"
    run("export_record", f"{HOST}/octo/cat#7", "--output", str(path))
    assert json.loads(path.read_text())["issue"]["host"] == HOST
    assert run("import_record", str(path))[0].endswith("nothing new")
