"""One study's uploads must not take the room of all: a limit for each, with its numbers, and shown."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from rlvram_site.ledger.chain import head
from studies.models import EvidenceQuota, PendingEvidence
from studies.services.outcomes import evidence_store
from tests.api.conftest import make_person
from tests.attacks.conftest import attempt, put
from tests.pages.reading import text_of

MIB = 1 << 20


@pytest.fixture
def limited(store, study, settings):
    settings.EVIDENCE_STUDY_QUOTA_BYTES = 1000
    return study


def test_what_goes_beyond_is_refused_and_leaves_nothing(limited, uploader):
    assert put(uploader, b"x" * 600).status_code == 201
    assert attempt(uploader, "run-1", ("a.log", b"x" * 600)).status_code == 201
    before = head("study/demo")
    refused = put(uploader, b"y" * 401)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (413, "quota_exceeded")
    assert "has 401 bytes, expected at most 400: the study has 600 of the 1000 bytes" in error["message"]
    form = {"invocation_id": "run-2", "files": SimpleUploadedFile("b.log", b"z" * 401)}
    assert uploader.form("studies/demo/attempts/", form).json()["error"]["code"] == "quota_exceeded"
    assert len(list(evidence_store.stored())) == 1
    assert not PendingEvidence.objects.exists()
    assert head("study/demo") == before
    assert put(uploader, b"y" * 400).status_code == 201


def test_bytes_on_their_way_count_and_the_same_bytes_count_once(limited, uploader):
    for _ in range(3):
        assert put(uploader, b"x" * 900).status_code in (200, 201)
    assert put(uploader, b"y" * 200).status_code == 413
    summary = uploader.get("studies/demo/evidence/").json()
    assert (summary["pending_bytes"], summary["limit_bytes"]) == (900, 1000)


def test_staff_give_a_study_its_own_limit_and_the_page_shows_it(limited, uploader, client):
    client.force_login(make_person("chief", is_staff=True))
    added = client.post("/admin/studies/evidencequota/add/", {"study": limited.pk, "limit_mib": 2})
    assert added.status_code == 302
    assert EvidenceQuota.objects.get().limit_mib == 2
    assert put(uploader, b"x" * 5000).status_code == 201
    attempt(uploader, "run-1", ("a.log", b"x" * 5000))
    assert "5,000 bytes of 2.0 MiB that it may have" in text_of(client.get("/studies/demo/evidence/"))
    nothing = client.post("/admin/studies/evidencequota/add/", {"study": limited.pk, "limit_mib": 0})
    assert "greater than or equal to 1" in text_of(nothing)


def test_nobody_else_sets_a_limit(limited, client):
    client.force_login(make_person("reader", "reviewer"))
    assert (
        client.post("/admin/studies/evidencequota/add/", {"study": limited.pk, "limit_mib": 9}).status_code
        == 302
    )
    assert not EvidenceQuota.objects.exists()


def test_without_a_limit_nothing_is_refused(store, study, uploader):
    assert put(uploader, b"x" * 2 * MIB).status_code == 201
    assert uploader.get("studies/demo/evidence/").json()["limit_bytes"] is None
