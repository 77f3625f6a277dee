"""People are told once when recorded evidence is found damaged, and once when it is whole again."""

from __future__ import annotations

from django.utils import timezone

from notices.evidence import watch_evidence
from notices.models import Message, Notice, Subscription
from rlvram_site.ledger.chain import record
from studies.models import EvidenceBlob, StoredFile
from tests.factories import make_small_study


def found(sha256: str, state: str) -> None:
    StoredFile.objects.update_or_create(sha256=sha256, defaults={"state": state, "sent_at": timezone.now()})


def test_damage_and_repair_are_told_once_each(person):
    study, other = make_small_study(slug="demo"), make_small_study(slug="other")
    Subscription.objects.create(user=person, study=study, channel="email")
    Subscription.objects.create(user=person, study=other, channel="email")
    for letter in "ab":
        record(EvidenceBlob(study=study, sha256=letter * 64, size_bytes=1))
    record(EvidenceBlob(study=other, sha256="c" * 64, size_bytes=1))
    assert watch_evidence() == 0
    found("a" * 64, StoredFile.State.DAMAGED)
    found("c" * 64, StoredFile.State.WHOLE)
    assert (watch_evidence(), watch_evidence()) == (1, 0)
    found("b" * 64, StoredFile.State.MISSING)
    assert (watch_evidence(), watch_evidence()) == (1, 0)
    for letter in "ab":
        found(letter * 64, StoredFile.State.WHOLE)
    assert (watch_evidence(), watch_evidence()) == (1, 0)
    assert [(notice.before, notice.now) for notice in Notice.objects.order_by("pk")] == [
        ("no file damaged or missing", "1 file damaged or missing: sha256 aaaaaaaaaaaa…"),
        (
            "1 file damaged or missing: sha256 aaaaaaaaaaaa…",
            "2 files damaged or missing: sha256 aaaaaaaaaaaa…, bbbbbbbbbbbb…",
        ),
        (
            "2 files damaged or missing: sha256 aaaaaaaaaaaa…, bbbbbbbbbbbb…",
            "no file damaged or missing",
        ),
    ]
    assert {notice.path for notice in Notice.objects.all()} == {"/studies/demo/evidence/"}
    assert Message.objects.count() == 3
