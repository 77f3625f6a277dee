"""What a person sees and does: ask, preview, pause, end, feed, and the failures of messages."""

from __future__ import annotations

from xml.etree import ElementTree as etree

import pytest
from django.contrib.auth.models import Group
from django.core import mail

from notices.keys import issue_feed_key, unsubscribe_token
from notices.models import FeedKey, Message, Subscription
from notices.sending import deliver_due
from notices.watching import watch
from tests.notices.conftest import subscribe

pytestmark = pytest.mark.django_db
ATOM = {"a": "http://www.w3.org/2005/Atom"}


def ask(browser, about="issue:octo/cat#7", channel="email", **more):
    return browser.post("/notices/", {"about": about, "channel": channel, **more})


def text(browser, path="/notices/") -> str:
    return browser.get(path).content.decode()


def test_ask_pause_resume_and_end(browser_of, world):
    assert "not told of anything yet" in text(browser_of)
    assert ask(browser_of).status_code == 302
    row = Subscription.objects.get()
    assert "You are told of 1 thing." in text(browser_of)
    browser_of.post(f"/notices/{row.pk}/pause/")
    assert "‖ paused" in text(browser_of)
    browser_of.post(f"/notices/{row.pk}/resume/")
    assert "‖ paused" not in text(browser_of)
    browser_of.post(f"/notices/{row.pk}/end/")
    assert "not told of anything yet" in text(browser_of)


def test_asked_twice_is_one_with_the_newer_wishes(browser_of, world):
    ask(browser_of)
    ask(browser_of, timing="daily", kinds=["unsafe"])
    row = Subscription.objects.get()
    assert (row.timing, row.kinds) == ("daily", ["unsafe"])


def test_an_issue_offers_it(browser_of, world):
    page = text(browser_of, "/admission/octo/cat/7/")
    assert "/notices/?about=issue%3Aocto%2Fcat%237" in page
    assert 'value="issue:octo/cat#7"' in text(browser_of, "/notices/?about=issue%3Aocto%2Fcat%237")


def test_a_study_offers_it(browser_of, study):
    assert "/notices/?about=study%3Ademo" in text(browser_of, "/studies/demo/")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"about": "issue:octo/cat#8"}, "is nothing here"),
        ({"about": "issue:octo/cat#²"}, "is nothing here"),
        ({"about": "study:none"}, "is nothing here"),
        ({"about": ""}, "required"),
        ({"about": "issue:\x00/x#1"}, "Null characters"),
        ({"channel": "pigeon"}, "not one of the available choices"),
        ({"channel": "webhook"}, "needs the address"),
        ({"channel": "webhook", "url": "https://127.0.0.1/x"}, "private, loopback"),
        ({"channel": "webhook", "url": "http://example.org"}, "Expected an address such as https"),
        ({"kinds": ["sealed"]}, "cannot happen to what you chose"),
        ({"kinds": ["nonsense"]}, "not one of the available choices"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_lost(browser_of, world, form, words):
    answer = ask(browser_of, **form)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert words in page
    if form.get("url"):
        assert form["url"] in page
    assert not Subscription.objects.exists()


def test_without_a_mail_address_it_is_said(browser_of, person, world):
    person.email = ""
    person.save()
    assert "has no mail address" in ask(browser_of).content.decode()


def test_strangers_are_asked_to_log_in(client, world):
    for path in ("/notices/", "/notices/messages/"):
        assert client.get(path)["Location"].startswith("/login/")
    assert client.post("/notices/", {"about": "everything"}).status_code == 302
    assert not Subscription.objects.exists()


def test_nobody_touches_what_is_another_persons(browser_of, world, django_user_model):
    other = django_user_model.objects.create_user("bo", email="bo@example.org")
    row = subscribe(other, issue=world.issue)
    world.status("resolved", "2026-03-05")
    watch()
    for what in ("pause", "resume", "end"):
        assert browser_of.post(f"/notices/{row.pk}/{what}/").status_code == 404
    assert browser_of.get(f"/notices/{row.pk}/preview/").status_code == 404
    assert browser_of.post(f"/notices/messages/{Message.objects.get().pk}/retry/").status_code == 404
    assert "octo/cat#7" not in text(browser_of, "/notices/messages/")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "Unsubscribe: https://studies.example/notices/unsubscribe/"),
        ({"channel": "webhook", "url": "https://example.org/x"}, "&quot;notices&quot;: ["),
        ({"channel": "webhook", "url": "https://example.org/x", "shape": "slack"}, "Read it here"),
        ({"channel": "feed"}, "Before:"),
    ],
)
def test_preview_with_an_example_and_with_the_real_thing(browser_of, person, world, columns, words):
    row = subscribe(person, issue=world.issue, **columns)
    page = text(browser_of, f"/notices/{row.pk}/preview/")
    assert "this is an example" in page
    assert words in page
    world.status("resolved", "2026-03-05")
    watch()
    assert "With the latest 1 notice." in text(browser_of, f"/notices/{row.pk}/preview/")


def test_failures_are_shown_with_their_reason_and_sent_again(browser_of, person, world, receiver):
    subscribe(person, issue=world.issue, channel="webhook", url=receiver.url)
    world.status("resolved", "2026-03-05")
    watch()
    receiver.answers = [503]
    deliver_due()
    Message.objects.update(state="failed")
    assert "1 message could not be delivered" in text(browser_of)
    page = text(browser_of, "/notices/messages/?state=failed")
    assert "It answered with 503." in page
    assert "octo/cat#7: what holds changed" in page
    browser_of.post(f"/notices/messages/{Message.objects.get().pk}/retry/")
    deliver_due()
    assert "✓ delivered" in text(browser_of, "/notices/messages/")


def test_the_lists_queries_do_not_grow(browser_of, person, world, django_assert_max_num_queries):
    for _ in range(30):
        subscribe(person, issue=world.issue)
    world.status("resolved", "2026-03-05")
    watch()
    for path in ("/notices/", "/notices/messages/"):
        with django_assert_max_num_queries(16):
            text(browser_of, path)


def test_unsubscribing_from_a_mail_needs_no_login(client, person, world, settings):
    settings.PUBLIC_READ = False
    row = subscribe(person, issue=world.issue)
    address = f"/notices/unsubscribe/{unsubscribe_token(row)}/"
    assert "You are told of octo/cat#7 by mail" in text(client, address)
    assert Subscription.objects.get().ended_at is None, "looking ends nothing: mail scanners look"
    answer = client.post(address, {"List-Unsubscribe": "One-Click"})
    assert "no longer told of octo/cat#7" in answer.content.decode()
    assert Subscription.objects.get().ended_at
    world.status("resolved", "2026-03-05")
    watch()
    deliver_due()
    assert mail.outbox == []


def test_a_forged_unsubscribe_address_is_none(client, person, world):
    row = subscribe(person)
    token = unsubscribe_token(row)
    for forged in (token[:-1] + ("A" if token[-1] != "A" else "B"), "1-x:abc", "x"):
        assert client.get(f"/notices/unsubscribe/{forged}/").status_code == 404


def entries(client, key) -> list[str]:
    tree = etree.fromstring(client.get(f"/notices/feed/{key}/").content)
    return [entry.findtext("a:title", namespaces=ATOM) for entry in tree.findall("a:entry", ATOM)]


def test_the_feed_holds_what_is_followed_by_feed(client, person, world, settings):
    settings.PUBLIC_READ = False
    person.groups.set(Group.objects.filter(name="reviewer"))
    world.witness("before", "2026-03-04")
    watch()
    subscribe(person, issue=world.issue, channel="feed")
    world.status("resolved <b>&amp;", "2026-03-05")
    watch()
    _, key = issue_feed_key(person)
    answer = client.get(f"/notices/feed/{key}/")
    assert answer["Content-Type"].startswith("application/atom+xml")
    assert "private" in answer["Cache-Control"]
    assert key not in answer.content.decode(), "a reader that publishes the feed does not publish the key"
    assert entries(client, key) == ["octo/cat#7: what holds changed"]
    tree = etree.fromstring(answer.content)
    link = tree.find("a:entry/a:link", ATOM).get("href")
    assert link.startswith("http://testserver/admission/octo/cat/7/s/status-")
    assert "Now: " in tree.findtext("a:entry/a:summary", namespaces=ATOM)


def test_a_feeds_key_is_shown_once_and_can_be_replaced_and_revoked(browser_of, person, world):
    page = browser_of.post("/notices/feed-key/").content.decode()
    row = FeedKey.objects.get()
    assert f"/notices/feed/{row.prefix}." in page
    assert f"{row.prefix}." not in text(browser_of)
    key = page.split("/notices/feed/")[1].split("/")[0]
    assert browser_of.get(f"/notices/feed/{key}/").status_code == 200
    browser_of.post("/notices/feed-key/")
    assert browser_of.get(f"/notices/feed/{key}/").status_code == 404
    browser_of.post("/notices/feed-key/revoke/")
    assert FeedKey.objects.filter(revoked_at=None).count() == 0


@pytest.mark.parametrize("key", ["x", "a.b", "." * 40, "ÿ.ÿ"])
def test_a_made_up_key_opens_nothing(client, db, key):
    assert client.get(f"/notices/feed/{key}/").status_code == 404


def test_a_feed_of_somebody_who_left_is_closed(client, person, world):
    _, key = issue_feed_key(person)
    person.is_active = False
    person.save()
    assert client.get(f"/notices/feed/{key}/").status_code == 404
