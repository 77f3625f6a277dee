"""Staff who would let a key act in somebody else's name, and owners who would not notice."""

from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from host.keys import Key
from host.web import Web
from rlvram_site.api.keys import ApiKey, issue_key

ADD = "/admin/ledger/apikey/add/"


def person(name: str, **more):
    user = get_user_model().objects.create_user(name, **more)
    user.groups.set(Group.objects.filter(name="uploader"))
    return user


def issue(by, owner) -> Client:
    client = Client()
    client.force_login(by)
    client.post(ADD, {"name": "robot", "owner": owner.pk, "scopes": ["read"], "study": ""})
    return client


def test_staff_issue_no_key_in_another_name(db):
    issue(person("ada", is_staff=True), person("bob"))
    assert ApiKey.objects.count() == 0


def test_staff_issue_keys_in_their_own(db):
    ada = person("ada", is_staff=True)
    issue(ada, ada)
    assert ApiKey.objects.get().owner == ada


def test_a_superuser_may_and_the_owner_sees_who_it_was(db):
    bob = person("bob")
    issue(person("root", is_staff=True, is_superuser=True), bob)
    assert ApiKey.objects.get().owner == bob
    client = Client()
    client.force_login(bob)
    page = client.get("/account/second-step/").content.decode()
    assert "Keys in your name" in page
    assert ">root</td>" in page


@pytest.mark.parametrize(("days", "warned"), [(13, True), (15, False), (None, False)])
def test_a_key_says_that_it_expires_soon(db, client, days, warned):
    bob = person("bob")
    expires = timezone.now() + dt.timedelta(days=days) if days else None
    _, secret = issue_key(name="robot", owner=bob, scopes=["read"], expires_at=expires)
    for path in ("studies/", "no/such/thing/", "studies/none/"):
        answer = client.get(f"/api/v1/{path}", headers={"Authorization": f"Api-Key {secret}"})
        if answer.status_code != 404 or path == "studies/none/":
            assert answer.has_header("Api-Key-Expires") is warned
    client.force_login(bob)
    assert ("expires on" in client.get("/account/second-step/").content.decode()) is warned


def test_the_uploader_says_so_once(live_server, settings):
    settings.ALLOWED_HOSTS = ["*"]
    bob = person("bob")
    soon = timezone.now() + dt.timedelta(days=3)
    _, secret = issue_key(name="robot", owner=bob, scopes=["read"], expires_at=soon)
    said: list[str] = []
    web = Web(live_server.url, Key(secret), retries=0, tell=said.append)
    for _ in range(3):
        web.json("GET", "studies/")
    assert said == [f"this key expires on {soon:%Y-%m-%dT%H:%M:%SZ}; ask for another one before"]
