"""People are told what changed about an issue: what held before, what holds now, where to read it. Once."""

from __future__ import annotations

import pytest
from django.core import mail

from admission.services.recording import record_correction
from notices.models import Message, Notice
from notices.sending import deliver_due
from notices.watching import watch
from tests.notices.conftest import subscribe

pytestmark = pytest.mark.django_db
NEW = "b" * 40


def told() -> list[tuple[str, str, str]]:
    watch()
    return list(Notice.objects.order_by("pk").values_list("kind", "before", "now"))


def test_nobody_is_told_of_what_was_there_already(world):
    assert told() == []


def test_what_holds_changed(world):
    status = world.status("resolved", "2026-03-05")
    ((kind, before, now),) = told()
    assert kind == "holds"
    assert "unresolved, since March 1, 2026" in before
    assert "resolved, since March 5, 2026" in now
    assert Notice.objects.get().path == status.get_absolute_url()
    assert told() == [(kind, before, now)], "looking again tells nothing new"


def test_a_statement_that_changes_nothing_tells_nothing(world):
    world.witness("small", "2026-03-05", outcome="completed")
    assert told() == []


def test_a_verdict_was_withdrawn_by_its_reviewer(world):
    first = world.issue.review_rows.get()
    world.review("a" * 40, "2026-03-05", "withdrawn", withdraws=first, note="The probe was wrong.")
    assert told() == [
        ("verdict_withdrawn", "clear by dee for #9 at aaaaaaaa", "withdrawn: The probe was wrong.")
    ]


def test_a_verdict_was_withdrawn_by_a_correction(world):
    first = world.issue.review_rows.get()
    record_correction(
        world.issue, target=first.key, kind="withdrawal", text="Wrong head.", stated="2026-03-05"
    )
    assert [(kind, now) for kind, _, now in told()] == [("verdict_withdrawn", "withdrawn: Wrong head.")]


def test_a_new_head_has_no_verdict_until_it_gets_one(world):
    world.head(NEW, "2026-03-05")
    assert told() == [
        ("head_without_verdict", "#9 at aaaaaaaa: clear", "#9 at bbbbbbbb: no standing verdict")
    ]
    world.review(NEW, "2026-03-06")
    assert len(told()) == 1


def test_a_closed_change_needs_no_verdict(world):
    world.head(NEW, "2026-03-05", "closed")
    assert told() == []


def test_a_decision_turned_out_unsafe(world):
    witness = world.witness("g16", "2026-03-05")
    assert [(kind, now) for kind, _, now in told()] == [("unsafe", "admitted, and ran out of memory: g16")]
    assert Notice.objects.get().path == witness.get_absolute_url()


def test_many_things_at_once_are_one_message(world, person):
    subscribe(person, issue=world.issue)
    world.status("resolved", "2026-03-05")
    world.head(NEW, "2026-03-05")
    world.witness("g16", "2026-03-05")
    watch()
    deliver_due()
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.subject == "[RL VRAM studies] octo/cat#7: what holds changed and 2 more"
    for text in ("Before:", "unresolved, since March 1", "Now:", "resolved, since March 5",
                 "https://studies.example/admission/octo/cat/7/s/",
                 "Unsubscribe: https://studies.example/"):  # fmt: skip
        assert text in sent.body


def test_only_those_who_asked_are_told_and_only_of_that(world, person, django_user_model):
    other = django_user_model.objects.create_user("bo", email="bo@example.org")
    gone = django_user_model.objects.create_user("cy", email="cy@example.org", is_active=False)
    subscribe(person, issue=world.issue, kinds=["unsafe"])
    subscribe(other, issue=None)
    subscribe(gone, issue=world.issue)
    subscribe(other, issue=world.issue, paused=True)
    world.status("resolved", "2026-03-05")
    watch()
    deliver_due()
    assert [sent.to for sent in mail.outbox] == [["bo@example.org"]]


def test_who_follows_everything_and_the_issue_gets_one_message(world, person):
    subscribe(person, issue=world.issue)
    subscribe(person)
    world.status("resolved", "2026-03-05")
    watch()
    deliver_due()
    assert len(mail.outbox) == 1


def test_one_that_cannot_be_read_does_not_silence_the_others(world, person, monkeypatch, study):
    from notices import studies

    def broken(study):
        raise RuntimeError("broken")

    monkeypatch.setattr(studies, "state_of", broken)
    subscribe(person)
    world.status("resolved", "2026-03-05")
    assert len(told()) == 1


def test_the_queries_do_not_grow_with_what_did_not_change(world, django_assert_max_num_queries):
    with django_assert_max_num_queries(4):
        watch()


def test_the_real_issue_is_read_like_any_other(art_848, person):
    watch()
    subscribe(person, issue=art_848)
    from tests.notices.conftest import IssueWorld

    IssueWorld(art_848, art_848.change_rows.first()).status("resolved, says a test", "")
    watch()
    assert Message.objects.count() == 1
    assert "resolved, says a test" in Notice.objects.get(kind="holds").now
