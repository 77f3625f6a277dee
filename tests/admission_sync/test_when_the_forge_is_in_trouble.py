"""Limits, errors, slowness and cuts: waited for, tried again, said in plain words, and nothing is lost."""

from __future__ import annotations

import datetime as dt
import socket
import threading

import pytest
from django.utils import timezone

from admission.models import Followed, ForgeAnswer, ThreadItem, TrackedIssue
from admission.sync import following
from admission.sync import forge as forge_module
from admission.sync.errors import ForgeTrouble, NotAllowed, NotFound, RateLimited, SyncError, Unreachable
from admission.sync.forge import Forge
from tests.admission_sync.forge import (
    cut,
    moved,
    page_of_a_proxy,
    refuses,
    running_forge,
    silent,
    trickles,
)

pytestmark = pytest.mark.django_db
ISSUE, TIMELINE = "/issues/7", "/issues/7/timeline"


def follow(address: str = "octo/cat#7") -> Followed:
    return following.follow(following.address_here(address), by="test")


def read(followed: Followed | None = None, **options) -> str:
    return following.sync(followed or follow(), Forge(**options))


def epoch(seconds: int) -> str:
    return str(int((timezone.now() + dt.timedelta(seconds=seconds)).timestamp()))


@pytest.mark.parametrize("trouble", [refuses(502), refuses(503), cut], ids=["502", "503", "cut"])
def test_what_passes_is_tried_again(forge, trouble):
    forge.trouble(TIMELINE, trouble, times=2)
    assert "recorded" not in read()
    assert TrackedIssue.objects.count() == 1
    assert forge.statuses("timeline")[-1] == 200


def test_a_cut_in_the_middle_loses_no_page_that_came(forge):
    forge.page_size = 2
    for number in range(1, 8):
        forge.comment(number, f"Comment {number}")
    forge.trouble("page=3", cut, times=3)
    followed = follow()
    with pytest.raises(Unreachable, match="was cut"):
        read(followed)
    assert not TrackedIssue.objects.exists(), "half a thread is never recorded"
    followed.refresh_from_db()
    assert followed.failures == 1
    assert "was cut" in followed.problem
    forge.requests.clear()
    read(followed)
    assert forge.statuses("timeline") == [304, 304, 200, 200]
    assert ThreadItem.objects.count() == 7


def test_a_page_read_before_a_worker_was_lost_is_not_taken_for_recorded(forge):
    followed = follow()
    read(followed)
    forge.comment(1, "New", at="2026-03-05T00:00:00Z")
    # The worker had read the page and was killed before anything was recorded.
    following.fetch(followed, Forge())
    followed.refresh_from_db()
    read(followed)
    assert ThreadItem.objects.get().body == "New"


@pytest.mark.parametrize(
    "trouble",
    [
        lambda: refuses(
            403, "API rate limit exceeded", x_ratelimit_remaining="0", x_ratelimit_reset=epoch(900)
        ),
        lambda: refuses(429, "Too many", retry_after="900"),
        lambda: refuses(403, "You have exceeded a secondary rate limit", retry_after="900"),
    ],
    ids=["primary", "429", "secondary"],
)
def test_a_limit_is_said_with_its_end_and_waited_for(forge, trouble):
    forge.trouble(TIMELINE, trouble())
    followed, other = follow(), follow("octo/cat#8")
    with pytest.raises(RateLimited) as caught:
        read(followed)
    until = caught.value.again_at
    assert 890 < (until - timezone.now()).total_seconds() <= 900
    assert f"used up until {until:%H:%M} UTC" in str(caught.value)
    assert forge.statuses("timeline") in ([403], [429]), "a limit is not hammered at"
    followed.refresh_from_db()
    other.refresh_from_db()
    # The limit is the forge's: nothing else is asked for before its end.
    assert followed.due_at == other.due_at == until
    assert not following.due().exists()


@pytest.mark.parametrize(
    "trouble", [refuses(429), refuses(403, "You have exceeded a secondary rate limit.")], ids=["429", "403"]
)
def test_a_limit_without_a_number_lasts_a_minute(forge, trouble):
    forge.trouble(ISSUE, trouble)
    with pytest.raises(RateLimited) as caught:
        read()
    assert 50 < (caught.value.again_at - timezone.now()).total_seconds() <= 60


def test_a_short_limit_is_waited_for(forge, monkeypatch):
    waited = []
    monkeypatch.setattr(forge_module.time, "sleep", waited.append)
    forge.trouble(TIMELINE, refuses(429, "Slow down", retry_after="2"))
    read()
    assert len(waited) == 1
    assert 0 < waited[0] <= 2
    assert forge.statuses("timeline") == [429, 200]


def test_nothing_is_sent_once_the_last_request_is_used(forge):
    used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": epoch(600)}
    document = forge.documents["/repos/octo/cat/issues/7"]
    forge.trouble(ISSUE, lambda handler: handler.answer(200, document, used_up))
    with pytest.raises(RateLimited):
        read()
    assert len(forge.requests) == 1


def test_a_limit_that_makes_no_sense_is_no_crash(forge):
    forge.trouble(ISSUE, refuses(403, "limited", retry_after="soon"), times=3)
    with pytest.raises(ForgeTrouble, match="makes no sense"):
        read()


@pytest.mark.parametrize(
    ("trouble", "error", "words"),
    [
        (refuses(404), NotFound, "octo/cat#7 was not found on .*No token is set"),
        (refuses(410), NotFound, "octo/cat#7 was removed"),
        (refuses(401), NotAllowed, "refuses the token in FORGE_TOKEN"),
        (refuses(403, "Resource protected"), NotAllowed, "does not show octo/cat#7: Resource protected"),
        (refuses(500), ForgeTrouble, "in trouble itself .error 500."),
        (page_of_a_proxy, ForgeTrouble, "no JSON for octo/cat#7; is FORGE_API_URL"),
    ],
)
def test_what_does_not_pass_is_said_in_plain_words(forge, trouble, error, words):
    forge.trouble(ISSUE, trouble, times=3)
    followed = follow()
    with pytest.raises(error, match=words):
        read(followed)
    followed.refresh_from_db()
    assert followed.problem
    assert followed.lease_until is None
    assert followed.due_at > timezone.now()
    assert not TrackedIssue.objects.exists()


def test_a_forge_that_answers_nothing_is_given_up(forge):
    ended = threading.Event()
    forge.trouble(ISSUE, silent(ended), times=3)
    try:
        with pytest.raises(Unreachable, match="did not answer in time"):
            read(timeout=0.2)
    finally:
        ended.set()


def test_an_answer_that_trickles_for_ever_is_given_up(forge):
    ended = threading.Event()
    forge.trouble(ISSUE, trickles(ended), times=3)
    try:
        with pytest.raises(Unreachable, match="did not answer in time"):
            read(timeout=5, answer_seconds=0.3)
    finally:
        ended.set()


def test_an_answer_without_end_is_given_up(forge, monkeypatch):
    monkeypatch.setattr(forge_module, "MAX_ANSWER_BYTES", 1000)
    forge.issue(body="x" * 2000)
    with pytest.raises(ForgeTrouble, match="longer than 1,000 bytes"):
        read()


def test_nobody_listens(settings):
    with running_forge() as gone:
        url = gone.url
    settings.FORGE_API_URL = url
    with pytest.raises(Unreachable, match="cannot be reached"):
        read()


def test_a_name_that_is_not_known(settings, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    settings.FORGE_API_URL = "https://forge.example"
    with pytest.raises(Unreachable, match=r"The name forge\.example is not known"):
        read()


def test_the_token_never_goes_to_another_host(forge, settings):
    settings.FORGE_TOKEN = "secret-token"
    with running_forge() as stranger:
        stranger.issue()
        forge.trouble(ISSUE, moved(f"{stranger.url}/repos/octo/cat/issues/7"), times=3)
        with pytest.raises(ForgeTrouble, match="does not follow"):
            read()
        document = forge.documents[TIMELINE.replace("/issues", "/repos/octo/cat/issues")]
        forge.trouble(
            TIMELINE,
            lambda handler: handler.answer(200, document, {"Link": f'<{stranger.url}/next>; rel="next"'}),
        )
        with pytest.raises(ForgeTrouble, match="does not follow"):
            read()
        assert stranger.requests == []


def test_a_transferred_issue_is_followed_to_its_new_place(forge):
    forge.issue(12)
    forge.trouble("/issues/7", moved(f"{forge.url}/repos/octo/cat/issues/12"))
    read()
    assert str(TrackedIssue.objects.get()) == "octo/cat#12"
    assert Followed.objects.get().issue == TrackedIssue.objects.get()


def test_pages_in_a_circle_end(forge):
    link = {"Link": f'<{forge.url}/repos/octo/cat/issues/7/timeline?per_page=100>; rel="next"'}
    forge.trouble(TIMELINE, lambda handler: handler.answer(200, [], link))
    with pytest.raises(ForgeTrouble, match="come to no end"):
        read()


def test_failures_are_tried_again_less_and_less_often(forge, settings):
    settings.FORGE_SYNC_SECONDS = 60
    forge.trouble(ISSUE, refuses(404), times=20)
    followed, waits = follow(), []
    for _ in range(14):
        with pytest.raises(SyncError):
            read(followed)
        followed.refresh_from_db()
        waits.append(round((followed.due_at - timezone.now()).total_seconds()))
    assert waits == sorted(waits)
    assert waits[:3] == [60, 120, 240]
    assert waits[-1] <= 24 * 3600
    forge.troubles.clear()
    read(followed)
    followed.refresh_from_db()
    assert (followed.failures, followed.problem) == (0, "")


def test_the_pages_kept_go_with_what_is_followed(forge):
    followed = follow()
    read(followed)
    assert ForgeAnswer.objects.count() == 2
    following.unfollow(followed)
    assert ForgeAnswer.objects.count() == 0
