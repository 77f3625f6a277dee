"""A second step at the login: offered to everybody, asked of staff where the site is set so."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.test import Client

from rlvram_site.api.keys import issue_key
from rlvram_site.ledger.models import LedgerEntry

PASSWORD = "a long enough passphrase"


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Codes that were used, and how often was guessed, are kept in the cache."""
    cache.clear()


@pytest.fixture
def ada(db):
    return get_user_model().objects.create_user("ada", password=PASSWORD, is_staff=True)


@pytest.fixture
def required(settings):
    settings.STAFF_TWO_STEP = "required"
    return settings


def log_in(client: Client, name: str = "ada", following: str = "/"):
    return client.post("/login/", {"username": name, "password": PASSWORD, "next": following})


def code_of(secret: str) -> str:
    """What an authenticator app shows now."""
    return format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time())))


def set_up(client: Client) -> tuple[str, list[str]]:
    """Set the second step up; the secret and the recovery codes."""
    page = client.get("/account/second-step/set-up/").content.decode()
    secret = re.search(r'<code id="secret">(\w+)</code>', page)[1]
    answer = client.post("/account/second-step/set-up/", {"code": code_of(secret)}, follow=True)
    codes = re.findall(r"<li><code>(\w+)</code>", answer.content.decode())
    return secret, codes


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_after_the_set_up_a_password_alone_opens_nothing(client, ada, monkeypatch):
    log_in(client)
    _, codes = set_up(client)
    assert len(codes) == 10
    other = Client()
    answer = log_in(other, following="/jobs/")
    assert answer["Location"].startswith("/account/second-step/code/")
    assert not signed_in(other)
    assert b"Code of your authenticator app" in other.get("/account/second-step/code/").content
    assert other.post("/account/second-step/code/", {"code": "000000"}).status_code == 200
    assert not signed_in(other)
    # The same code twice is refused, so this is what a recovery code is for.
    answer = other.post("/account/second-step/code/", {"code": codes[0]})
    assert answer["Location"] == "/jobs/"
    assert signed_in(other)


def test_a_recovery_code_opens_once(client, ada):
    log_in(client)
    _, codes = set_up(client)
    for expected in (True, False):
        other = Client()
        log_in(other)
        other.post("/account/second-step/code/", {"code": codes[3]})
        assert signed_in(other) is expected


def test_codes_are_not_guessed_without_end(client, ada):
    log_in(client)
    set_up(client)
    guesser = Client()
    log_in(guesser)
    pages = [
        guesser.post("/account/second-step/code/", {"code": f"{n:06}"}).content.decode() for n in range(8)
    ]
    assert "Too many failed login attempts" in pages[-1]


def test_the_second_step_ends_with_the_password_at_hand(client, ada):
    log_in(client)
    set_up(client)
    assert client.post("/account/second-step/end/").status_code == 302
    assert log_in(Client())["Location"] == "/"


@pytest.mark.parametrize("address", ["/", "/admin/", "/admission/", "/jobs/", "/notices/"])
def test_staff_see_nothing_before_it_where_it_is_required(client, ada, required, address):
    log_in(client)
    assert client.get(address)["Location"] == "/account/second-step/set-up/"
    set_up(client)
    assert client.get(address).status_code == 200


def test_their_sessions_call_nothing_either_and_their_keys_go_on(client, ada, required):
    log_in(client)
    answer = client.get("/api/v1/studies/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "second_step_required")
    _, secret = issue_key(name="robot", owner=ada, scopes=["read"])
    assert Client().get("/api/v1/studies/", headers={"Authorization": f"Api-Key {secret}"}).status_code == 200


def test_an_older_session_is_no_way_around_it(client, ada, required):
    log_in(client)
    older = Client()
    log_in(older)
    set_up(client)
    assert older.get("/")["Location"].startswith("/account/second-step/again/")


def test_others_are_not_asked(client, required, db):
    bob = get_user_model().objects.create_user("bob", password=PASSWORD)
    bob.groups.set(Group.objects.filter(name="reviewer"))
    log_in(client, "bob")
    assert client.get("/").status_code == 200


def test_a_session_of_an_hour_ago_is_asked_for_the_password_first(client, ada):
    log_in(client)
    session = client.session
    session["account_authentication_methods"][0]["at"] -= 3600
    session.save()
    answer = client.get("/account/second-step/set-up/")
    assert answer["Location"].startswith("/account/password/again/")
    answer = client.post(answer["Location"], {"password": PASSWORD, "next": "/account/second-step/set-up/"})
    assert answer["Location"] == "/account/second-step/set-up/"
    assert client.get(answer["Location"]).status_code == 200


def test_nobody_signs_up(client, db):
    for address in ("/signup/", "/accounts/signup/", "/account/signup/", "/login/signup/"):
        assert client.get(address).status_code == 404


def test_the_pages_have_no_code_inside(client, ada):
    log_in(client)
    set_up(client)
    for page in ("", "set-up/", "end/", "recovery-codes/", "recovery-codes/new/"):
        answer = client.get(f"/account/second-step/{page}", follow=True)
        assert answer.status_code == 200
        assert not re.search(rb"<script(?![^>]*src=)|<style|style=|onclick=", answer.content)
        assert "'unsafe-inline'" not in answer["Content-Security-Policy"]
    answer = client.get("/account/second-step/recovery-codes/file/")
    assert answer["Cache-Control"].find("no-store") >= 0 or "private" in answer["Cache-Control"]


def test_a_password_is_changed_and_the_session_goes_on(client, ada):
    log_in(client)
    new = "another long passphrase"
    client.post("/account/password/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    ada.refresh_from_db()
    assert ada.check_password(new)
    assert client.get("/notices/").status_code == 200


def test_a_superuser_takes_a_lost_second_step_away_and_it_is_recorded(client, ada):
    log_in(client)
    set_up(client)
    root = get_user_model().objects.create_superuser("root", password=PASSWORD)
    by_root = Client()
    by_root.force_login(root)
    add = "/admin/ledger/secondstepreset/add/"
    sent = {"person": ada.pk, "reason": "came to the desk with a badge"}
    client.force_login(ada)
    assert client.post(add, sent).status_code == 403
    assert "required" in by_root.post(add, {"person": ada.pk}).content.decode()
    assert by_root.post(add, sent).status_code == 302
    entry = LedgerEntry.objects.get(stream__name="site/logins")
    assert (entry.record_type, entry.actor) == ("ledger.secondstepreset", "root")
    # Nobody who has none is offered, and the library's own page for it is gone.
    assert "Select a valid choice" in by_root.post(add, sent).content.decode()
    assert by_root.get("/admin/mfa/authenticator/").status_code == 404
    afresh = Client()
    log_in(afresh)
    assert signed_in(afresh)
