"""A person who is told, an issue and a study that change, and a receiver of webhooks on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from admission.models import Change, ChangeHead, Review, StatusUpdate, TrackedIssue, Witness
from admission.services.identity import locked_issue
from admission.services.recording import record_row
from notices.models import Subscription
from notices.watching import watch
from rlvram_site.ledger.chain import record  # noqa: F401 - what tests of studies use
from tests.factories import make_small_study


@pytest.fixture
def person(db, settings):
    """Somebody with a mail address."""
    settings.SITE_URL = "https://studies.example"
    return get_user_model().objects.create_user("ada", email="ada@example.org", password="x")


@pytest.fixture
def browser_of(client, person):
    """A browser in which that person is logged in."""
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    return client


@dataclass
class IssueWorld:
    """An issue and what is stated about it."""

    issue: TrackedIssue
    change: Change

    def status(self, claim: str, stated: str) -> StatusUpdate:
        row = StatusUpdate(claim=claim, heading=claim, body=claim)
        record_row(self.issue, row, "status", stated)
        return row

    def head(self, sha: str, stated: str, state: str = "open") -> ChangeHead:
        row = ChangeHead(change=self.change, sha=sha, state=state)
        record_row(self.issue, row, "head", stated)
        return row

    def review(self, sha: str, stated: str, verdict: str = "clear", **more: Any) -> Review:
        row = Review(change=self.change, head_sha=sha, reviewer="dee", verdict=verdict, **more)
        record_row(self.issue, row, "review", stated)
        return row

    def witness(self, title: str, stated: str, outcome: str = "device_oom") -> Witness:
        row = Witness(title=title, decision="admitted", outcome=outcome)
        record_row(self.issue, row, "witness", stated)
        return row


@pytest.fixture
def world(person, django_db_blocker) -> IssueWorld:
    """octo/cat#7 with one change, one head and a verdict; everybody has seen it so."""
    from django.db import transaction

    with transaction.atomic():
        issue = locked_issue("octo", "cat", 7, "https://github.com/octo/cat/issues/7")
    change = Change(number=9, title="Mend it")
    record_row(issue, change, "change", "2026-03-01")
    made = IssueWorld(issue, change)
    made.status("unresolved", "2026-03-01")
    made.head("a" * 40, "2026-03-02")
    made.review("a" * 40, "2026-03-02")
    watch()
    return made


@pytest.fixture
def study(person):
    """A small study; everybody has seen it so."""
    made = make_small_study(slug="demo")
    watch()
    return made


def subscribe(person: Any, **columns: Any) -> Subscription:
    return Subscription.objects.create(user=person, **{"channel": "email", **columns})


@dataclass
class Posted:
    """One request that the receiver got."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """Takes webhooks; ``answers`` holds the next statuses (200 when there is none)."""

    url: str = ""
    posted: list[Posted] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    location: str = ""


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        receiver: Receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.posted.append(Posted(self.path, dict(self.headers.items()), body))
        status = receiver.answers.pop(0) if receiver.answers else 200
        if status == 0:
            receiver.hold.wait(60)
            return
        self.send_response(status)
        if receiver.location:
            self.send_header("Location", receiver.location)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def receiver(settings) -> Iterator[Receiver]:
    """A receiver on the loopback address, which the settings allow."""
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    made = Receiver(f"http://127.0.0.1:{server.server_port}/told")
    server.receiver = made  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
    yield made
    made.hold.set()
    server.shutdown()
    server.server_close()
