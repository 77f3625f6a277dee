"""A followed repository: its issues are found as they change, and read one by one."""

from __future__ import annotations

import pytest
from django.utils import timezone

from admission.models import Followed, TrackedIssue
from admission.sync import following
from admission.sync.errors import SyncError
from admission.sync.forge import Forge
from tests.admission.conftest import run
from tests.admission_sync.forge import cut

pytestmark = pytest.mark.django_db


@pytest.fixture
def repository(forge):
    """Seven issues, one of them labelled, and a pull request among them."""
    forge.documents.clear()
    listed = []
    for number in range(1, 8):
        document = forge.issue(number, updated_at=f"2026-03-0{number}T00:00:00Z")
        document["labels"] = [{"name": "memory & more"}] if number == 3 else []
        listed.append(document)
    listed.insert(4, {"number": 99, "pull_request": {}, "updated_at": "2026-03-04T12:00:00Z"})
    forge.documents["/repos/octo/cat/issues"] = listed
    forge.page_size = 3
    return forge


def changed(forge, number: int, at: str) -> None:
    listed = forge.documents["/repos/octo/cat/issues"]
    document = next(item for item in listed if item["number"] == number)
    document["updated_at"], document["body"] = at, f"Changed at {at}"
    listed.sort(key=lambda item: item["updated_at"])


def test_every_issue_of_a_repository_is_read_and_no_pull_request(repository):
    lines = run("sync_issues", "octo/cat")
    assert lines[0] == "octo/cat: 7 changed issues found."
    assert sorted(TrackedIssue.objects.values_list("number", flat=True)) == [1, 2, 3, 4, 5, 6, 7]
    assert Followed.objects.count() == 8


def test_only_issues_with_the_label(repository):
    run("sync_issues", "octo/cat", "--label", "memory & more")
    assert list(TrackedIssue.objects.values_list("number", flat=True)) == [3]


def test_later_only_what_changed_is_asked_for(repository):
    run("sync_issues", "octo/cat")
    changed(repository, 2, "2026-04-01T00:00:00Z")
    repository.requests.clear()
    lines = run("sync_issues", "octo/cat")
    assert lines[0] == "octo/cat: 1 changed issue found."
    assert {
        path for path in (r.path for r in repository.requests) if "/issues/" in path and "/2" not in path
    } == set()
    assert TrackedIssue.objects.get(number=2).issueversion_rows.count() == 2


def test_a_list_that_was_cut_goes_on_where_it_was(repository):
    repository.trouble("page=2", cut, times=3)
    followed = following.follow(following.address_here("octo/cat"))
    with pytest.raises(SyncError):
        following.sync(followed, Forge())
    followed.refresh_from_db()
    assert followed.cursor == "2026-03-03T00:00:00Z"
    repository.requests.clear()
    following.sync(followed, Forge())
    assert "since=2026-03-03" in repository.requests[0].path
    assert Followed.objects.filter(number__gt=0).count() == 7


def test_somebody_elses_claim_is_respected_until_its_lease_ends(repository):
    followed = following.follow(following.address_here("octo/cat#1"))
    assert following.claim(followed)
    assert not following.claim(followed)
    assert following.sync_due(Forge()) == 0
    assert repository.requests == []
    Followed.objects.update(lease_until=timezone.now() - following.LEASE)
    following.sync_due(Forge())
    assert TrackedIssue.objects.count() == 1


def test_what_is_paused_is_not_read(repository):
    run("sync_issues", "octo/cat")
    following.pause(Followed.objects.get(number=0))
    repository.requests.clear()
    Followed.objects.update(due_at=timezone.now())
    assert run("sync_issues") == []
    following.resume(Followed.objects.get(number=0))
    assert len(run("sync_issues")) == 8


def test_one_that_fails_does_not_keep_the_others_from_being_read(repository):
    for number in (1, 2, 404):
        following.follow(following.address_here(f"octo/cat#{number}"))
    said = []
    assert following.sync_due(Forge(), said=said.append) == 1
    assert TrackedIssue.objects.count() == 2
    assert any("was not found" in line for line in said)
