"""Somebody who guesses passwords, and somebody who guesses in order to lock others out."""

from __future__ import annotations

import datetime as dt

import pytest
from axes.models import AccessAttempt
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db.models import F
from django.test import Client

from rlvram_site.logins.limits import (
    FREE_FAILURES_OF_ONE_NAME,
    LONGEST_WAIT,
    NAMES_OF_ONE_ADDRESS,
    wait_between,
)

PASSWORD = "a long enough passphrase"
OFFICE = "198.51.100.7"


@pytest.fixture
def ada(db):
    return get_user_model().objects.create_user("ada", password=PASSWORD, is_staff=True)


def log_in(client: Client, name: str = "ada", password: str = PASSWORD, address: str = OFFICE, **more):
    return client.post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address, **more)


def earlier(seconds: int) -> None:
    """Let so much time pass."""
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - dt.timedelta(seconds=seconds))


def test_sprayed_names_lock_the_address_they_come_from(ada):
    answers = [log_in(Client(), f"name-{n}", "wrong").status_code for n in range(NAMES_OF_ONE_ADDRESS + 1)]
    assert answers[:-2] == [200] * (NAMES_OF_ONE_ADDRESS - 1)
    assert answers[-1] == 429
    assert log_in(Client()).status_code == 429
    assert log_in(Client(), address="203.0.113.5").status_code == 302
    earlier(15 * 60 + 1)
    assert log_in(Client()).status_code == 302


def test_a_neighbour_behind_the_same_address_cannot_lock_staff_out(ada):
    own = Client()
    assert log_in(own).status_code == 302
    own.post("/logout/")
    for n in range(NAMES_OF_ONE_ADDRESS + 5):
        log_in(Client(), f"name-{n}", "wrong")
    for _ in range(6):
        log_in(Client(), "ada", "wrong")
    assert log_in(Client()).status_code == 429
    assert log_in(own).status_code == 302


def test_a_known_browser_is_limited_as_well(ada):
    own = Client()
    log_in(own)
    own.post("/logout/")
    answers = [log_in(own, password="wrong", address=f"203.0.113.{n}").status_code for n in range(6)]
    assert answers[-2:] == [429, 429]
    assert log_in(own).status_code == 429


def test_a_known_browser_is_known_for_its_own_name_only(ada):
    get_user_model().objects.create_user("mallory", password=PASSWORD)
    browser = Client()
    log_in(browser, "mallory")
    browser.post("/logout/")
    for _ in range(5):
        log_in(browser, "ada", "wrong")
    assert log_in(browser, "ada").status_code == 429


@pytest.mark.parametrize("agent", ["known browser 0123", "known browser "])
def test_nobody_calls_himself_known(ada, agent):
    for _ in range(5):
        answer = log_in(Client(), password="wrong", headers={"User-Agent": agent})
    assert answer.status_code == 429
    forged = Client()
    forged.cookies["known-browser"] = "eyJicm93c2VyIjoieCIsIm5hbWVzIjpbImFkYSJdfQ:1:x"
    assert log_in(forged).status_code == 429


def test_a_crowd_slows_a_name_down_and_does_not_lock_it(ada):
    crowd = [
        log_in(Client(), password="wrong", address=f"203.0.113.{n}") for n in range(FREE_FAILURES_OF_ONE_NAME)
    ]
    assert [answer.status_code for answer in crowd[:-1]] == [200] * (FREE_FAILURES_OF_ONE_NAME - 1)
    refused = log_in(Client())
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 2
    assert b"Try again in" in refused.content
    earlier(3)
    assert log_in(Client()).status_code == 302


def test_waiting_grows_and_ends():
    waits = [wait_between(n) for n in range(40)]
    assert waits == sorted(waits)
    assert waits[:FREE_FAILURES_OF_ONE_NAME] == [0] * FREE_FAILURES_OF_ONE_NAME
    assert waits[FREE_FAILURES_OF_ONE_NAME] == 2
    assert max(waits) == LONGEST_WAIT


def test_trying_while_locked_does_not_prolong_the_lock(ada):
    for _ in range(5):
        log_in(Client(), password="wrong")
    earlier(14 * 60)
    assert log_in(Client(), password="wrong").status_code == 429
    earlier(61)
    assert log_in(Client()).status_code == 302


@pytest.mark.parametrize(
    "name",
    ["ada\0", "a" * 5000, "‮ada", "", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")],
)
def test_odd_names_are_refused_plainly(ada, name):
    for _ in range(7):
        assert log_in(Client(), name, "wrong").status_code in {200, 400, 429}


def test_a_lock_says_the_same_whether_the_name_exists(ada):
    def pages(name: str) -> list[bytes]:
        return [log_in(Client(), name, "wrong", address="203.0.113.9").content for _ in range(6)][-1:]

    assert pages("ada") == pages("bob")


def test_staff_unlock_on_the_server(ada, capsys):
    for _ in range(5):
        log_in(Client(), password="wrong")
    assert log_in(Client()).status_code == 429
    call_command("axes_reset_username", "ada")
    assert log_in(Client()).status_code == 302
