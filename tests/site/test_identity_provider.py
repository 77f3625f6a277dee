"""Logging in through an identity provider: a real one, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
import requests
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.test import Client

START = "/login/provider/login/"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def provider():
    address = f"http://127.0.0.1:{(port := free_port())}"
    process = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            try:
                requests.get(f"{address}/.well-known/openid-configuration", timeout=5).raise_for_status()
                break
            except requests.ConnectionError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def trusted(settings, provider, db):
    """The site that lets the provider say who somebody is."""
    cache.clear()
    settings.PUBLIC_READ = False
    trust(settings, provider)
    settings.OIDC_ROLES = {"lab": "reviewer", "lab-upload": "uploader", "lab-staff": "staff"}
    return settings


def trust(settings, address: str) -> None:
    settings.OIDC_ISSUER, settings.OIDC_NAME = address, "the lab"
    app = {"provider_id": "provider", "name": "the lab", "client_id": "site", "secret": "s3cret",
           "settings": {"server_url": address}}  # fmt: skip
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}


def come_in(client: Client, provider: str, sub: str, start: str = START, **claims):
    """Log in at the provider as ``sub``; the site's last answer."""
    requests.put(f"{provider}/users/{sub}", json=claims, timeout=10).raise_for_status()
    away = client.get(start)
    assert away.status_code == 302, away.content
    back = requests.post(away["Location"], data={"sub": sub}, timeout=10, allow_redirects=False)
    place = urlsplit(back.headers["Location"])
    return client.get(f"{place.path}?{place.query}")


def person() -> object:
    return get_user_model().objects.get()


def test_the_login_page_leads_there_by_a_link(client, trusted):
    page = client.get("/login/?next=/jobs/").content.decode()
    assert f'href="{START}?next=/jobs/"' in page or f'href="{START}?next=%2Fjobs%2F"' in page
    assert "Log in with the lab" in page


def test_without_one_the_page_leads_nowhere(client, db):
    assert "/login/provider/" not in client.get("/login/").content.decode()
    assert client.get(START).status_code == 404


def test_nobody_has_a_role_by_default(client, trusted, provider):
    come_in(client, provider, "ada", preferred_username="ada", email="ada@example.org")
    user = person()
    assert (user.is_staff, user.is_superuser, user.groups.count()) == (False, False, 0)
    assert client.get("/").status_code == 403
    assert client.get("/api/v1/studies/").status_code == 403


@pytest.mark.parametrize(
    ("groups", "staff", "roles"),
    [
        (["lab"], False, {"reviewer"}),
        (["lab", "lab-upload", "else"], False, {"reviewer", "uploader"}),
        (["lab-staff"], True, set()),
        ("lab", False, {"reviewer"}),
        (["LAB", "staff", "reviewer", 7, None], False, set()),
        (None, False, set()),
    ],
)
def test_a_claim_gives_the_role_that_it_is_mapped_to(client, trusted, provider, groups, staff, roles):
    come_in(client, provider, "ada", groups=groups)
    user = person()
    assert user.is_staff is staff
    assert not user.is_superuser
    assert set(user.groups.values_list("name", flat=True)) == roles


def test_what_the_provider_takes_away_is_gone_at_the_next_login(client, trusted, provider):
    come_in(client, provider, "ada", groups=["lab-staff", "lab"])
    assert client.get("/admin/").status_code == 200
    come_in(Client(), provider, "ada", groups=[])
    user = person()
    assert (user.is_staff, user.groups.count()) == (False, 0)


@pytest.mark.parametrize("claims", [{"preferred_username": "admin"}, {"email": "admin@example.org"}])
def test_nobody_becomes_somebody_who_is_there_already(client, trusted, provider, claims):
    own = get_user_model().objects.create_superuser("admin", "admin@example.org", "a long passphrase")
    come_in(client, provider, "mallory", email_verified=True, **claims)
    assert int(client.session["_auth_user_id"]) != own.pk
    assert get_user_model().objects.filter(username="admin").get() == own


def test_accounts_are_never_joined(client, trusted, provider):
    own = get_user_model().objects.create_user("ada", password="a long passphrase", is_staff=True)
    client.force_login(own)
    come_in(client, provider, "other", start=f"{START}?process=connect")
    own.refresh_from_db()
    assert own.is_staff
    assert own.socialaccount_set.count() == 0


def test_an_answer_that_nobody_asked_for_is_refused(client, trusted, provider):
    answer = client.get(f"{START}callback/?code=stolen&state=made-up")
    assert "_auth_user_id" not in client.session
    assert b"did not say who you are" in answer.content


def test_a_provider_that_is_away_is_said_so(client, trusted):
    trust(trusted, f"http://127.0.0.1:{free_port()}")
    answer = client.get(START)
    assert answer.status_code == 503
    assert b"did not say who you are" in answer.content


def test_where_to_go_on_is_kept_and_stays_on_the_site(client, trusted, provider):
    answer = come_in(client, provider, "ada", start=f"{START}?next=/jobs/", groups=["lab"])
    assert answer["Location"] == "/jobs/"
    answer = come_in(Client(), provider, "bob", start=f"{START}?next=https://evil.example/", groups=["lab"])
    assert answer["Location"] == "/"
