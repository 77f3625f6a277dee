"""The first page in the morning: what is contradicted, and what waits for the person who looks."""

from __future__ import annotations

import datetime as dt

import pytest
from django.contrib.auth.models import User

from admission.models import TrackedIssue
from rlvram_site.ledger.chain import record_all
from studies.models import Attempt, Job, Study, StudyDraft
from tests.pages.reading import text_of

pytestmark = pytest.mark.usefixtures("sample_studies")
UNSEEN = "Waits for me"


def staff() -> User:
    return User.objects.create_user("ada", password="x", is_staff=True)


def attempt(study: Study, name: str, **more) -> Attempt:
    return Attempt(
        study=study, invocation_id=name, outcome="unresolved", origin="declared", source="test", **more
    )


def test_a_stranger_has_no_list_of_work(client):
    Job.objects.create(kind="refit", queue="q", state=Job.State.FAILED, created_by="ada")
    assert UNSEEN not in text_of(client.get("/"))


def test_staff_see_failed_jobs_unplanned_attempts_disagreements_and_drafts(client):
    study = Study.objects.get(slug="estimation")
    user = staff()
    StudyDraft.objects.create(owner=user)
    Job.objects.create(kind="refit", queue="q", state=Job.State.FAILED, created_by="ada", study=study)
    slot = study.attempts.exclude(slot=None).first().slot
    disagrees = attempt(study, "disagrees", slot=slot, derivation={"disagrees": True})
    record_all([attempt(study, "stray"), disagrees])
    client.force_login(user)
    text = text_of(client.get("/")).split(UNSEEN)[1]
    assert "The draft “" in text
    assert "Memory estimation, seven-billion panel has 1 attempt that belongs to no planned slot." in text
    assert "has 1 attempt whose uploader says another diagnosis than the evidence." in text
    assert "failed and was not run again." in text


def test_somebody_without_a_role_sees_only_the_own_drafts(client):
    Job.objects.create(kind="refit", queue="q", state=Job.State.FAILED, created_by="ada")
    client.force_login(User.objects.create_user("bob", password="x"))
    text = text_of(client.get("/"))
    assert "Nothing waits for you." in text
    assert "failed and was not run again" not in text


def test_an_attempt_that_ran_before_the_seal_by_its_own_clock_is_a_contradiction_on_the_first_page(client):
    study = Study.objects.get(slug="estimation")
    assert "Contradicted: 1 attempt" not in text_of(client.get("/"))
    early = dt.datetime(2026, 9, 15, 14, 0, tzinfo=dt.UTC)
    record_all([attempt(study, "early", started_at=early, ended_at=early)])
    text = text_of(client.get("/"))
    assert (
        "Memory estimation, seven-billion panel: Contradicted: 1 attempt was recorded after the seal" in text
    )


def test_a_contradicted_refusal_is_named_with_what_contradicts_it(client):
    shown = text_of(client.get("/"))
    rows = TrackedIssue.objects.get(number=848).witness_rows.filter(contradicted_by__isnull=False)
    assert rows.exists()
    assert all(f"“{row.title}” is contradicted by" in shown for row in rows)
