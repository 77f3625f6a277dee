"""Somebody at a shared machine, a proxy that keeps pages, or an account that has no role (any more)."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from notices.keys import find_feed_key, is_told, issue_feed_key

PAGES = ["/", "/admission/", "/jobs/", "/hosts/", "/transfer/", "/notices/", "/api/v1/docs/"]
CALLS = ["/api/v1/studies/", "/api/v1/pools/", "/api/v1/admission/issues/", "/api/v1/transfer/"]


@pytest.fixture
def bob(db):
    return get_user_model().objects.create_user("bob", password="a long enough passphrase")


def make_reviewer(user) -> None:
    user.groups.set(Group.objects.filter(name="reviewer"))


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("role", [False, True])
def test_pages_and_calls_say_the_same(client, bob, settings, public, role):
    settings.PUBLIC_READ = public
    if role:
        make_reviewer(bob)
    client.force_login(bob)
    open_pages = {path for path in PAGES if client.get(path).status_code == 200}
    open_calls = {path for path in CALLS if client.get(path).status_code == 200}
    assert open_pages == (set(PAGES) if public or role else set())
    assert open_calls == (set(CALLS) if public or role else set())


def test_without_a_role_the_page_says_so(client, bob, private_site):
    client.force_login(bob)
    answer = client.get("/")
    assert answer.status_code == 403
    assert b"this account has no role yet" in answer.content


def test_a_feed_and_messages_end_with_the_role(bob, private_site):
    make_reviewer(bob)
    _, key = issue_feed_key(bob)
    assert find_feed_key(key)
    bob.groups.clear()
    bob = get_user_model().objects.get(pk=bob.pk)
    assert not is_told(bob)
    assert find_feed_key(key) is None


@pytest.mark.parametrize("path", [*PAGES, *CALLS, "/admin/", "/no/such/page/"])
def test_no_proxy_keeps_a_private_page(client, bob, private_site, path):
    make_reviewer(bob)
    client.force_login(bob)
    answer = client.get(path)
    kept = {part.strip() for part in answer["Cache-Control"].split(",")}
    assert "private" in kept
    assert {"no-cache", "no-store"} & kept
    assert "Cookie" in answer["Vary"]


def test_a_page_is_revalidated_and_not_sent_again(client, bob, private_site):
    make_reviewer(bob)
    client.post("/login/", {"username": "bob", "password": "a long enough passphrase"})
    client.get("/admission/")
    first = client.get("/admission/")
    again = client.get("/admission/", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = Client()
    ann = get_user_model().objects.create_user("ann")
    make_reviewer(ann)
    other.force_login(ann)
    assert other.get("/admission/", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_after_a_logout_the_same_question_leads_to_the_login(client, bob, private_site):
    make_reviewer(bob)
    client.force_login(bob)
    tag = client.get("/admission/")["ETag"]
    answer = client.post("/logout/")
    assert answer["Clear-Site-Data"] == '"cache"'
    answer = client.get("/admission/", headers={"If-None-Match": tag})
    assert answer["Location"].startswith("/login/")


def test_what_everybody_may_read_is_left_alone(client, db, settings):
    settings.PUBLIC_READ = True
    assert "private" not in client.get("/admission/").get("Cache-Control", "")
