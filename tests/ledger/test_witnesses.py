"""Time stamps of an authority outside, and heads that the site signs: asked for, shown, and checked again."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from rfc3161_client import TimestampRequestBuilder
from rfc3161_client.base import HashAlgorithm

from host import rlvram_verify
from rlvram_site.ledger.checks import check_ledger
from rlvram_site.ledger.models import LedgerEntry
from rlvram_site.tasks import ask_witnesses
from rlvram_site.witness import signing, stamping
from rlvram_site.witness.models import STREAM, HeadSignature, SigningKey, StampProblem, TimeStamp
from tests.bypass import without_triggers
from tests.ledger import authority
from tests.ledger.authority import openssl

STUDY = "study/estimation"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The authority's keys and certificates."""
    made = tmp_path_factory.mktemp("authority")
    authority.make_authority(made)
    return made


@pytest.fixture
def asked(folder, settings):
    """The site asks the authority; ``asked.reply`` may be changed."""

    class Asked:
        questions: list[bytes] = []

        def reply(self, question: bytes) -> tuple[int, bytes]:
            return 200, authority.answer(folder, question)

        def take(self, question: bytes) -> tuple[int, bytes]:
            self.questions = [*self.questions, question]
            return self.reply(question)

    one = Asked()
    with authority.serving(one.take) as address:
        settings.TIMESTAMP_URL, settings.TIMESTAMP_CHAIN = address, str(folder / "root.pem")
        yield one


@pytest.fixture
def key(settings, tmp_path):
    """The site has a key, in a file of its own."""
    return new_key(settings, tmp_path / "site.key")


def new_key(settings, path):
    openssl("genpkey", "-algorithm", "ed25519", "-out", path)
    path.chmod(0o600)
    settings.SIGNING_KEY_FILE = str(path)
    return path


def seal_of(stream: str) -> LedgerEntry:
    return LedgerEntry.objects.get(stream__name=stream, record_type=stamping.SEALS)


def test_without_an_authority_a_seal_is_by_the_sites_own_clock(sample_studies, client):
    ask_witnesses()
    assert not TimeStamp.objects.exists()
    for page in ("study", "protocol"):
        assert "by this site's own clock" in client.get(reverse(page, args=["estimation"])).text
    assert "No authority outside is asked" in client.get("/witnesses/").text


def test_each_seal_and_once_a_day_the_heads_are_stamped_and_checked(
    sample_studies, asked, key, folder, client, tmp_path, capsys
):
    ask_witnesses()
    seals = LedgerEntry.objects.filter(record_type=stamping.SEALS).count()
    assert TimeStamp.objects.filter(about="seal").count() == seals > 0
    assert TimeStamp.objects.filter(about="heads").count() == HeadSignature.objects.count() == 1
    ask_witnesses()
    assert len(asked.questions) == seals + 1

    for page in ("study", "protocol"):
        assert "Stamped by CN=Test authority" in client.get(reverse(page, args=["estimation"])).text
    page = client.get("/witnesses/").text
    assert f"stamped {seals + 1} times" in page
    assert "BEGIN PUBLIC KEY" in page
    found = client.get("/api/v1/witnesses/").json()
    assert found["keys"][0]["public_key"] == SigningKey.objects.get().public_key
    assert len(found["stamps"]) == seals + 1
    call_command("verify_ledger", stdout=StringIO())
    assert check_ledger().passed

    # By openssl alone, from the files that the page offers.
    stamp, signed = TimeStamp.objects.last(), HeadSignature.objects.get()
    files = {}
    wanted = {
        "stamps": (stamp.pk, "json tsr"),
        "heads": (signed.pk, "json sig"),
        "keys": (signed.key_id, "pem"),
    }
    for kind, (number, endings) in wanted.items():
        for ending in endings.split():
            files[f"{kind}.{ending}"] = tmp_path / f"{kind}.{ending}"
            answer = client.get(f"/witnesses/{kind}-{number}.{ending}")
            files[f"{kind}.{ending}"].write_bytes(answer.content)
    assert client.get(f"/witnesses/keys-{signed.key_id}.json").status_code == 404
    openssl("ts", "-verify", "-data", files["stamps.json"], "-in", files["stamps.tsr"], "-CAfile",
            folder / "root.pem")  # fmt: skip
    openssl("pkeyutl", "-verify", "-pubin", "-inkey", files["keys.pem"], "-rawin", "-in", files["heads.json"],
            "-sigfile", files["heads.sig"])  # fmt: skip

    # By the verifier, from an export; and not after a stamp or a signature was moved to another link.
    path = tmp_path / "ledger.jsonl"
    call_command("export_ledger", STUDY, STREAM, output=path, stdout=StringIO())
    arguments = [str(path), "--timestamps", str(folder / "root.pem"), "--key", str(files["keys.pem"])]
    assert rlvram_verify.main(arguments) == 0
    said = capsys.readouterr().out
    place = seal_of(STUDY).sequence
    assert f"{STUDY} is as it was at record {place}" in said
    assert "signed heads" in said
    lines = path.read_text().splitlines()
    tampered = {"ledger.timestamp": "does not hold", "ledger.headsignature": "not signed with"}
    for kind, expected in tampered.items():
        changed = [json.loads(line) for line in lines]
        link = next(item for item in changed[1:] if item["record_type"] == kind)
        link["row"]["covers"][0]["sequence"] += 1
        path.write_text("".join(json.dumps(item) + "\n" for item in changed))
        assert rlvram_verify.main(arguments) == 1
        assert expected in capsys.readouterr().out


def test_a_stamp_that_was_changed_behind_the_ledger_is_found_again(sample_studies, asked):
    ask_witnesses()
    stamp = TimeStamp.objects.filter(about="seal").first()
    other = TimeStamp.objects.filter(about="seal").last()
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE ledger_timestamp SET response = %s WHERE id = %s", [other.response, stamp.pk])
    assert list(stamping.broken_stamps()) == [
        f"time stamp {stamp.pk}: the time stamp does not hold: it stamps another digest than the one that "
        "was sent"
    ]
    with pytest.raises(CommandError, match="broken"):
        call_command("verify_ledger", stdout=StringIO())


def other_nonce(folder, question):
    other = TimestampRequestBuilder().data(b"x").hash_algorithm(HashAlgorithm.SHA256).build()
    return 200, authority.answer(folder, other.as_bytes())


FAILURES = {
    "answered with HTTP 503": lambda folder, question: (503, b"busy"),
    "is no time stamp": lambda folder, question: (200, b"<html>"),
    "larger than 65536 bytes": lambda folder, question: (200, bytes(70_000)),
    "it answers another request": other_nonce,
}


@pytest.mark.parametrize("reason", FAILURES)
def test_what_is_wrong_with_an_answer_is_said_and_asked_again(reason, sample_studies, asked, folder, client):
    asked.reply = lambda question: FAILURES[reason](folder, question)
    ask_witnesses()
    assert not TimeStamp.objects.exists()
    assert reason in client.get("/witnesses/").text
    asked_before = len(asked.questions)
    ask_witnesses()
    assert len(asked.questions) == asked_before  # not before its time
    del asked.reply
    StampProblem.objects.update(again_at="2020-01-01T00:00:00Z")
    ask_witnesses()
    assert TimeStamp.objects.exists()
    assert not StampProblem.objects.exists()


def test_an_authority_that_is_down_or_unknown_to_the_chain_keeps_nothing_back(
    sample_studies, settings, asked, tmp_path
):
    authority.make_authority(tmp_path)
    settings.TIMESTAMP_CHAIN = str(tmp_path / "root.pem")
    assert any("not one of the trusted chain" in problem for problem in stamping.witness_what_is_due())
    StampProblem.objects.all().delete()
    settings.TIMESTAMP_URL = "http://127.0.0.1:1/tsr"
    assert any("can't be reached" in problem for problem in stamping.witness_what_is_due())
    assert not TimeStamp.objects.exists()


def test_a_new_key_is_recorded_and_old_signatures_still_hold(sample_studies, key, settings, tmp_path):
    ask_witnesses()
    new_key(settings, tmp_path / "second.key")
    covers = stamping.all_heads()
    signing.sign_heads(covers, stamping.content_of(covers))
    first, second = HeadSignature.objects.all()
    assert first.key.public_key != second.key.public_key
    assert not list(stamping.broken_signatures())
    content = stamping.content_of(second.covers)
    assert signing.holds(second.key.public_key, second.signature, content)
    assert not signing.holds(first.key.public_key, second.signature, content)


def test_a_key_that_others_can_read_or_that_is_none_is_refused(settings, key):
    key.chmod(0o644)
    with pytest.raises(ImproperlyConfigured, match="mode 644, expected 600"):
        signing.private_key()
    settings.SIGNING_KEY_FILE, settings.SIGNING_KEY = "", "not a key"
    with pytest.raises(ImproperlyConfigured, match="SIGNING_KEY: expected an Ed25519 key"):
        signing.private_key()
