"""Log lines: ids that lead from a request to its job, JSON that parses, and never a key or password."""

from __future__ import annotations

import json
import logging

import pytest
from django.contrib.auth import get_user_model
from hypothesis import given, settings
from hypothesis import strategies as st

from operating import logs, tracing
from operating.requests import HEADER
from rlvram_site.api.keys import issue_key
from studies.tasks import run

KEY = "abcd1234." + "Z9y8" * 8


@pytest.fixture
def lines(monkeypatch):
    """Every line that the site writes, as JSON."""
    written: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Kept()
    handler.addFilter(logs.Ids())
    handler.setFormatter(logs.JsonLines())
    root, requests = logging.getLogger(), logging.getLogger("rlvram.requests")
    monkeypatch.setattr(requests, "level", logging.INFO)
    requests.manager._clear_cache()
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)
    requests.manager._clear_cache()


def test_each_answer_has_an_id_and_its_line_has_the_same(client, db, lines):
    answer = client.get("/health/live/?q=private")
    (line,) = [json.loads(line) for line in lines if "rlvram.requests" in line]
    assert line["request_id"] == answer[HEADER]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/health/live/", 200)
    assert "private" not in json.dumps(line)


def test_what_django_says_about_a_request_has_its_id(client, db, lines):
    answer = client.get("/studies/nothing/")
    said = [json.loads(line) for line in lines if "django.request" in line]
    assert [line["request_id"] for line in said] == [answer[HEADER]]


@pytest.mark.parametrize(
    ("behind", "sent", "kept"),
    [(True, "abc-1.2", True), (False, "abc-1.2", False), (True, "a b", False), (True, "x" * 65, False)],
)
def test_an_id_is_taken_from_a_proxy_only(client, db, settings, behind, sent, kept):
    settings.BEHIND_PROXY = behind
    answer = client.get("/health/live/", headers={HEADER: sent})
    assert (answer[HEADER] == sent) is kept
    assert answer[HEADER]


def test_an_id_goes_with_the_message_into_the_lines_of_the_job(lines):
    headers: dict[str, str] = {}
    logs.request_id.set("from-the-web")
    tracing._send_id(headers=headers)
    logs.request_id.set("")
    task = run
    task.push_request(**headers)
    try:
        tracing._take_id(task_id="t", task=task, args=[41])
        logging.getLogger("studies").warning("working")
        tracing._drop_id(task_id="t")
    finally:
        task.pop_request()
    logging.getLogger("studies").warning("later")
    first, second = (json.loads(line) for line in lines[-2:])
    assert (first["request_id"], first["job_id"]) == ("from-the-web", "41")
    assert "job_id" not in second
    assert "request_id" not in second


def test_a_key_is_in_no_line_whatever_fails(client, db, lines):
    owner = get_user_model().objects.create_user("ada", password="a password of hers")
    _, secret = issue_key(name="host", owner=owner, scopes=["read"])
    client.get("/api/v1/studies/", headers={"Authorization": f"Api-Key {secret}"})
    client.get("/api/v1/nothing/", headers={"Authorization": f"Api-Key {secret}"})
    client.post("/login/", {"username": "ada", "password": "a password of hers, wrong"})
    client.get(f"/notices/feed/{'f' * 43}/")
    logging.getLogger("x").error("refused %s", secret)
    try:
        raise ValueError(f"redis://:hunter2hunter2@redis:6379/0 and {secret}")
    except ValueError:
        logging.getLogger("x").exception("failed")
    everything = "\n".join(lines)
    assert lines
    assert secret.partition(".")[2] not in everything
    assert "a password of hers" not in everything
    assert "hunter2hunter2" not in everything
    assert "f" * 43 not in everything


def test_the_secrets_of_the_settings_are_in_no_line(settings):
    logs._known.cache_clear()
    try:
        settings.FORGE_TOKEN = "ghp_" + "t0k3n" * 6
        assert settings.FORGE_TOKEN not in logs.redacted(f"asked with {settings.FORGE_TOKEN}")
        assert settings.SECRET_KEY not in logs.redacted(f"signed with {settings.SECRET_KEY}")
    finally:
        logs._known.cache_clear()


@settings(max_examples=60)
@given(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.text(st.sampled_from("abcXYZ019"), min_size=8, max_size=8),
    st.text(st.sampled_from("abcXYZ019"), min_size=32, max_size=32),
)
def test_a_key_is_found_between_any_words(around, prefix, secret):
    line = logs.redacted(f"{around} Api-Key {prefix}.{secret} {around}")
    assert f"{prefix}.{secret}" not in line


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_a_text_line_stays_one_line(said):
    record = logging.LogRecord("x", logging.WARNING, "f", 1, said.replace("%", ""), None, None)
    logs.Ids().filter(record)
    line = logs.Text("{levelname} {message}{ids}", style="{").format(record)
    assert "\n" not in line
    assert "\r" not in line
