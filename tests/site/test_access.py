"""Who may read, what every answer's headers forbid, and what guessing passwords leads to."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

PASSWORD = "a long enough passphrase"


@pytest.fixture
def ada(db):
    user = get_user_model().objects.create_user("ada", password=PASSWORD)
    user.groups.set(Group.objects.filter(name="reviewer"))
    return user


def log_in(client, password=PASSWORD, username="ada", address="192.0.2.1"):
    return client.post("/login/", {"username": username, "password": password}, REMOTE_ADDR=address)


def test_the_demo_can_be_read_without_a_login(client, db):
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/admission/", "/studies/estimation/?family=Qwen"])
def test_a_private_site_asks_for_a_login_and_comes_back(client, ada, private_site, path):
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=/")
    client.force_login(ada)
    assert client.get(path).status_code in {200, 404}


def test_a_private_site_shows_its_login_page(client, db, private_site):
    answer = client.get("/login/")
    assert answer.status_code == 200
    assert b'name="password"' in answer.content


def test_a_login_leads_home(client, ada, private_site):
    answer = log_in(client)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/").status_code == 200


def test_a_login_does_not_lead_to_a_foreign_host(client, ada):
    answer = client.post("/login/?next=https://evil.example/", {"username": "ada", "password": PASSWORD})
    assert answer["Location"] == "/"


def test_after_five_wrong_passwords_the_right_one_is_refused_too(client, ada):
    for _ in range(4):
        assert log_in(client, "wrong").status_code == 200
    assert log_in(client, "wrong").status_code == 429
    assert log_in(client).status_code == 429
    assert "_auth_user_id" not in client.session


def test_somebody_elses_guessing_does_not_lock_the_owner_out(client, ada):
    for _ in range(6):
        log_in(client, "wrong", address="198.51.100.7")
    assert log_in(client, address="192.0.2.1").status_code == 302


def test_a_right_password_forgives_earlier_slips(client, ada):
    for _ in range(3):
        for _ in range(3):
            log_in(client, "wrong")
        assert log_in(client).status_code == 302


def test_the_admin_has_no_door_of_its_own(client, ada):
    for _ in range(5):
        answer = client.post("/admin/login/?next=/admin/", {"username": "ada", "password": PASSWORD})
        assert answer["Location"] == "/login/?next=%2Fadmin%2F"
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("path", ["/", "/login/", "/admin/login/", "/health/live/", "/no/such/page/"])
def test_every_answer_forbids_inline_code_frames_and_guessing_of_types(client, db, path):
    answer = client.get(path)
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert "unsafe" not in policy["script-src"]
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"


def test_an_unknown_page_is_a_404_of_the_site(client, db):
    answer = client.get("/no/such/page/")
    assert answer.status_code == 404
    assert b"<html" in answer.content


def test_browsers_find_the_icon_where_they_look_for_it(client, db, private_site):
    assert client.get("/favicon.ico")["Location"] == "/static/icon.svg"


def test_a_foreign_host_name_is_refused(client, db):
    assert client.get("/", HTTP_HOST="evil.example").status_code == 400
