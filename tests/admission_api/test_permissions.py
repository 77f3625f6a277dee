"""Who may do what: every address of memory admission for every kind of caller."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver

from admission.api.urls import urlpatterns
from rlvram_site.ledger.models import LedgerEntry
from tests.admission_api.conftest import ISSUE, TABLES
from tests.api.conftest import Api, key_for, make_person
from tests.factories import make_study

READS = ["admission/issues/", ISSUE, f"{ISSUE}statements/{{status}}/",
         *(f"{ISSUE}{table}/" for table in (*TABLES, "addresses", "later-facts")),
         "admission/conformance/", "admission/followed/"]  # fmt: skip
HISTORY = {
    "model": {"hidden_size": 8, "layers": 1, "element_bytes": 2, "experts_per_token": 0},
    "steps": [{"price": {"label": "one", "packed_tokens": 1, "logical_tokens": 1, "output_bytes": 0,
                         "usable_bytes": 9}}],
}  # fmt: skip
FORWARD = {"packed_tokens": 1, "logical_tokens": 1, "output_bytes": 0}
ESTIMATES = {
    "admission/replay/": {"document": HISTORY},
    "admission/prices/": {"model": HISTORY["model"], "forward": FORWARD},
}
WRITES = {
    "witnesses": {
        "witnesses": {"key": "w", "title": "A run", "decision": "admitted", "outcome": "completed"},
        "measurements": {"key": "m", "label": "peak", "basis": "allocated", "size_bytes": 1},
        "replays": {"key": "p", "witness": "{witness}", "title": "Both", "document": HISTORY},
    },
    "status": {
        "status-updates": {"claim": "unresolved", "body": "Nothing new."},
        "corrections": {"kind": "withdrawal", "target": "{status}", "text": "It was wrong."},
        "events": {"kind": "closed", "cause": "answered"},
        "changes": {"title": "A local candidate"},
        "heads": {"change": "{change}", "sha": "abcdef12", "state": "open"},
        "reviews": {"change": "{change}", "head_sha": "abcdef12", "reviewer": "Ada", "verdict": "clear"},
        "receipts": {"label": "a log"},
        "open-questions": {"text": "Why?"},
        "question-mentions": {"question": "{question}", "says": "answered"},
        "related-issues": {"repository": "octo/cat", "number": 7, "title": "t", "why_separate": "other"},
    },
}
READ_ONLY = [
    "admission/issues/",
    ISSUE,
    *(f"{ISSUE}{t}/" for t in ("thread", "versions", "gaps", "proposals")),
]
MAY_WRITE = {
    "uploader": {"witnesses"},
    "staff": {"witnesses", "status"},
    "witnesses key": {"witnesses"},
    "status key": {"status"},
}
CALLERS = ["nobody", "reviewer", "uploader", "staff", "reading key", "witnesses key", "status key",
           "attempts key", "status key of an uploader", "key of a study", "wrong key"]  # fmt: skip
UNKNOWN = {"nobody", "wrong key"}


def caller(name: str) -> Api:
    """The caller of that name, newly made."""
    if name == "nobody":
        return Api(Client(), {})
    if name == "wrong key":
        return Api(Client(), {"Authorization": "Api-Key abcdefgh.not-a-key"})
    if name in ("reviewer", "uploader", "staff"):
        client = Client()
        client.force_login(make_person(name, *([] if name == "staff" else [name]), is_staff=name == "staff"))
        return Api(client, {})
    if name == "status key of an uploader":
        return key_for("read", "status", owner=make_person("u", "uploader"))
    if name == "key of a study":
        return key_for("read", "witnesses", "status", study=make_study(slug="other"))
    scope = name.partition(" ")[0]
    return key_for("read", *([] if scope == "reading" else [scope]))


@pytest.fixture
def world(private_site, art_848) -> dict[str, str]:
    """Keys of records to point at."""
    return {
        "status": art_848.statusupdate_rows.first().key,
        "change": art_848.change_rows.first().key,
        "question": art_848.openquestion_rows.first().key,
        "witness": art_848.witness_rows.first().key,
    }


def filled(body: dict, world: dict[str, str]) -> dict:
    return {k: v.format(**world) if isinstance(v, str) else v for k, v in body.items()}


@pytest.mark.parametrize("name", CALLERS)
def test_who_may_read(world, name):
    api = caller(name)
    for path in READS:
        expected = 401 if name in UNKNOWN else 200
        assert api.get(path.format(**world)).status_code == expected, f"{name}: {path}"


@pytest.mark.parametrize("name", CALLERS)
def test_who_may_have_something_priced(world, name):
    api, links = caller(name), LedgerEntry.objects.count()
    expected = 401 if name in UNKNOWN else 403 if name == "key of a study" else 200
    for path, body in ESTIMATES.items():
        assert api.post(path, body).status_code == expected, f"{name}: {path}"
        assert api.get(path).status_code in (401, 405)
    # Issuing a key is a record of its own; pricing is none.
    assert LedgerEntry.objects.count() == links


@pytest.mark.parametrize("name", CALLERS)
def test_who_may_write(world, name):
    api = caller(name)
    for scope, bodies in WRITES.items():
        for table, body in bodies.items():
            links = LedgerEntry.objects.count()
            answer = api.post(f"{ISSUE}{table}/", filled(body, world))
            if scope in MAY_WRITE.get(name, ()):
                assert answer.status_code == 201, f"{name}: {table}: {answer.content}"
            else:
                expected = 401 if name in UNKNOWN else 403
                assert answer.status_code == expected, f"{name}: {table}: {answer.content}"
                assert set(answer.json()) == {"error"}
                assert LedgerEntry.objects.count() == links


def test_what_an_import_made_cannot_be_written_even_by_staff(world):
    api = caller("staff")
    for path in READ_ONLY:
        assert api.post(path, {}).status_code == 405, path


def test_a_browser_session_needs_the_forgery_token(world):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_person("staff", is_staff=True))
    body = WRITES["status"]["status-updates"]
    assert Api(client, {}).post(f"{ISSUE}status-updates/", body).status_code == 403


def test_the_demo_reads_without_a_login_and_writes_nothing(world, private_site):
    private_site.PUBLIC_READ = True
    api = caller("nobody")
    assert api.get(ISSUE).status_code == 200
    assert api.post("admission/prices/", ESTIMATES["admission/prices/"]).status_code == 200
    body = WRITES["witnesses"]["witnesses"]
    assert api.post(f"{ISSUE}witnesses/", body).status_code == 401


def _paths(patterns, prefix="admission/"):
    for item in patterns:
        path = prefix + str(item.pattern)
        if isinstance(item, URLResolver):
            yield from _paths(item.url_patterns, path)
        elif isinstance(item, URLPattern):
            yield path


def test_every_address_is_in_the_tables_above():
    # One followed issue has an owner; tests/admission_sync says who may see and end it.
    known = {*READS, *ESTIMATES, "admission/followed/<int:pk>/"}
    for path in _paths(urlpatterns):
        path = path.replace("<str:host>/", "").replace(
            "<str:owner>/<str:name>/<int:number>", "OpenPipe/ART/848"
        )
        assert path.replace("<str:key>", "{status}") in known, path
    assert {table for bodies in WRITES.values() for table in bodies} <= {*TABLES}
