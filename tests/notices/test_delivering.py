"""Messages arrive once, by mail or webhook, at once or once a day; what fails is tried again and shown."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import smtplib
import time

import pytest
from django.core import mail
from django.utils import timezone

from notices import sending
from notices.models import Message, Notice
from notices.sending import claim, deliver, deliver_due
from notices.watching import next_digest, watch
from tests.notices.conftest import subscribe

pytestmark = pytest.mark.django_db
State = Message.State


def change(world, number: int = 1) -> None:
    world.status(f"claim {number}", f"2026-04-{number:02}")
    watch()


def test_a_mail_can_be_ended_from_within(world, person):
    row = subscribe(person, issue=world.issue)
    change(world)
    deliver_due()
    headers = mail.outbox[0].extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert headers["List-Unsubscribe"].startswith("<https://studies.example/notices/unsubscribe/")
    assert headers["Message-ID"].startswith(f"<{Message.objects.get().identity}@")
    assert row.subject in mail.outbox[0].body


def test_what_it_names_cannot_forge_a_header(world, person):
    subscribe(person, issue=world.issue)
    world.status("fine\r\nBcc: all@example.org", "2026-04-01")
    watch()
    assert deliver_due() == (1, 0)
    assert mail.outbox[0].bcc == []
    assert "\n" not in mail.outbox[0].subject


def test_once_a_day_is_one_mail_at_the_hour(world, person, settings, monkeypatch):
    settings.NOTICES_DIGEST_HOUR = 7
    subscribe(person, issue=world.issue, timing="daily")
    change(world, 1)
    change(world, 2)
    message = Message.objects.get()
    assert message.due_at == next_digest(timezone.now())
    assert (message.due_at.hour, message.due_at.minute) == (7, 0)
    assert deliver_due() == (0, 0)
    Message.objects.update(due_at=timezone.now())
    change(world, 3)
    assert Message.objects.count() == 2, "what comes after the hour is the next day's"
    deliver_due()
    (sent,) = mail.outbox
    assert sent.subject == "[RL VRAM studies] 2 changes: octo/cat#7"
    assert "claim 1" in sent.body
    assert "claim 2" in sent.body
    assert "claim 3" not in sent.body


@pytest.mark.parametrize(
    ("now", "expected"),
    [("2026-03-01T06:59:59", "2026-03-01T07:00:00"), ("2026-03-01T07:00:00", "2026-03-02T07:00:00")],
)
def test_the_next_digest(now, expected, settings):
    settings.NOTICES_DIGEST_HOUR = 7
    moment = dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC)
    assert next_digest(moment).isoformat() == f"{expected}+00:00"


def test_a_webhook_is_signed_and_says_what_held(world, person, receiver):
    row = subscribe(person, issue=world.issue, channel="webhook", url=f"{receiver.url}?room=1")
    change(world)
    assert deliver_due() == (1, 0)
    (posted,) = receiver.posted
    assert posted.path == "/told?room=1"
    signed = f"{posted.headers['X-Notice-Timestamp']}.".encode() + posted.body
    mac = hmac.new(row.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert posted.headers["X-Notice-Signature-256"] == f"sha256={mac}"
    assert abs(int(posted.headers["X-Notice-Timestamp"]) - time.time()) < 300
    (notice,) = posted.document["notices"]
    assert "unresolved" in notice["before"]
    assert "claim 1" in notice["now"]
    assert notice["url"].startswith("https://studies.example/admission/octo/cat/7/s/status-")


def test_a_slack_message_formats_nothing_from_outside(world, person, receiver):
    subscribe(person, issue=world.issue, channel="webhook", url=receiver.url, shape="slack")
    world.status("<!channel> *loud* & <https://bad.example|click>", "2026-04-01")
    watch()
    deliver_due()
    (posted,) = receiver.posted
    assert set(posted.document) == {"text"}
    text = posted.document["text"]
    assert "&lt;!channel&gt;" in text
    assert "<!channel>" not in text
    assert "|click>" not in text
    assert "<https://studies.example/admission/octo/cat/7/s/" in text


def test_what_fails_is_tried_again_later_and_later_with_the_same_id(world, person, receiver, monkeypatch):
    subscribe(person, issue=world.issue, channel="webhook", url=receiver.url)
    change(world)
    receiver.answers = [500] * 6
    waits = []
    for _ in range(6):
        assert deliver_due() == (0, 1)
        message = Message.objects.get()
        waits.append(round((message.due_at - timezone.now()).total_seconds() / 60))
        assert deliver_due() == (0, 0)
        Message.objects.filter(state=State.WAITING).update(due_at=timezone.now())
    assert waits[:5] == [1, 5, 30, 120, 480]
    message = Message.objects.get()
    assert (message.state, message.problem, message.attempts) == ("failed", "It answered with 500.", 6)
    assert len({posted.headers["X-Notice-Delivery"] for posted in receiver.posted}) == 1
    sending.retry(message)
    assert deliver_due() == (1, 0)
    assert deliver_due() == (0, 0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(), "cannot be reached"),
        (smtplib.SMTPAuthenticationError(535, b"no"), "refuses the site's name and password"),
        (smtplib.SMTPRecipientsRefused({}), "does not take mail for ada@example.org"),
        (smtplib.SMTPDataError(552, b"full"), "answered with 552"),
    ],
)
def test_a_mail_servers_trouble_is_said(world, person, monkeypatch, error, words):
    def refuse(self):
        raise error

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    subscribe(person, issue=world.issue)
    change(world)
    assert deliver_due() == (0, 1)
    assert words in Message.objects.get().problem


def test_a_redirect_is_not_followed(world, person, receiver):
    receiver.answers, receiver.location = [302], receiver.url
    subscribe(person, issue=world.issue, channel="webhook", url=receiver.url)
    change(world)
    deliver_due()
    assert len(receiver.posted) == 1
    assert "redirect (302)" in Message.objects.get().problem


def test_a_receiver_that_says_nothing_is_given_up(world, person, receiver, monkeypatch):
    monkeypatch.setattr("notices.webhooks.READ_SECONDS", 0.2)
    receiver.answers = [0]
    subscribe(person, issue=world.issue, channel="webhook", url=receiver.url)
    change(world)
    deliver_due()
    assert "did not answer in time" in Message.objects.get().problem


def test_two_workers_send_it_once(world, person):
    subscribe(person, issue=world.issue)
    change(world)
    pk = Message.objects.get().pk
    first = claim(pk)
    assert claim(pk) is None
    assert deliver_due() == (0, 0)
    assert deliver(first)
    assert claim(pk) is None
    assert len(mail.outbox) == 1


def test_a_lost_worker_loses_no_message_and_ends_nothing_later(world, person):
    subscribe(person, issue=world.issue)
    change(world)
    lost = claim(Message.objects.get().pk)
    Message.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    assert deliver_due() == (1, 0)
    sending._failed(lost, "too late", final=True)
    assert Message.objects.get().state == State.DELIVERED
    assert len(mail.outbox) == 1


def test_who_paused_or_left_meanwhile_gets_nothing(world, person):
    row = subscribe(person, issue=world.issue)
    change(world)
    row.paused = True
    row.save()
    assert deliver_due() == (0, 1)
    assert Message.objects.get().state == State.DROPPED
    assert mail.outbox == []


def test_without_an_address_or_a_server_it_fails_with_the_reason(world, person, settings):
    subscribe(person, issue=world.issue)
    change(world)
    settings.EMAIL_SENDS = False
    deliver_due()
    assert Message.objects.get().problem == "This site sends no mail: EMAIL_URL is not set."
    assert Message.objects.get().state == State.FAILED


def test_an_unexpected_error_does_not_stop_the_others(world, person, django_user_model, monkeypatch):
    other = django_user_model.objects.create_user("bo", email="bo@example.org")
    subscribe(person, issue=world.issue)
    subscribe(other, issue=world.issue, channel="email")
    change(world)
    real = sending.mail_text

    def sometimes(subscription, *args, **options):
        if subscription.user == person:
            raise RuntimeError("boom")
        return real(subscription, *args, **options)

    monkeypatch.setattr(sending, "mail_text", sometimes)
    assert deliver_due() == (1, 1)


def test_a_notice_is_never_in_two_messages_of_one_subscription(world, person):
    subscribe(person, issue=world.issue)
    change(world)
    watch()
    watch()
    assert Message.objects.count() == Notice.objects.count() == 1
