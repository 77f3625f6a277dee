"""A worker that is killed while it sends neither loses a mail nor doubles it: real processes, real SMTP."""

from __future__ import annotations

import datetime as dt
import signal

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from notices.models import Message
from notices.watching import watch
from tests.jobs.conftest import wait_for
from tests.notices.conftest import IssueWorld, subscribe
from tests.notices.smtp_sink import running_sink
from tests.processes import start_python

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sink():
    with running_sink() as running:
        yield running


@pytest.fixture
def told(transactional_db, tmp_path) -> None:
    """Somebody is to be told something."""
    from django.db import transaction

    from admission.services.identity import locked_issue

    with transaction.atomic():
        issue = locked_issue("octo", "cat", 7)
    watch()
    person = get_user_model().objects.create_user("ada", email="ada@example.org")
    subscribe(person, issue=issue)
    IssueWorld(issue, None).status("resolved", "2026-03-05")
    watch()


def send(sink, tmp_path):
    return start_python(
        "manage.py",
        "send_notices",
        EMAIL_URL=f"smtp://127.0.0.1:{sink.port}",
        DATA_DIR=str(tmp_path / "data"),
    )


def killed_while_sending(sink, tmp_path) -> Message:
    """A worker is killed at the place where the mail server waits; then its lease ends."""
    sink.busy.set()
    worker = send(sink, tmp_path)
    wait_for(sink.waiting.is_set, "the worker hands a mail over")
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    sink.busy.clear()
    sink.free.set()
    assert Message.objects.get().state == Message.State.SENDING
    second = send(sink, tmp_path)
    assert "0 delivered" in second.communicate(timeout=120)[0], "the lost worker's lease still holds"
    Message.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    third = send(sink, tmp_path)
    assert "1 delivered" in third.communicate(timeout=120)[0]
    assert "0 delivered" in send(sink, tmp_path).communicate(timeout=120)[0]
    message = Message.objects.get()
    assert (message.state, message.attempts) == (Message.State.DELIVERED, 2)
    return message


def test_killed_before_the_mail_is_given(told, sink, tmp_path):
    message = killed_while_sending(sink, tmp_path)
    (mail,) = sink.mails
    assert mail["Message-ID"].startswith(f"<{message.identity}@")
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["To"] == "ada@example.org"


def test_killed_before_the_mail_server_answers_it_stays_one_mail_by_its_id(told, sink, tmp_path):
    # Nobody can know whether the first one was taken. Its id is what mail programs recognise it by.
    sink.late = True
    message = killed_while_sending(sink, tmp_path)
    assert {mail["Message-ID"].split("@")[0] for mail in sink.mails} == {f"<{message.identity}"}


def test_several_workers_at_once_send_it_once(told, sink, tmp_path):
    workers = [send(sink, tmp_path) for _ in range(3)]
    for worker in workers:
        worker.communicate(timeout=120)
    assert len(sink.mails) == 1
    assert Message.objects.get().state == Message.State.DELIVERED
