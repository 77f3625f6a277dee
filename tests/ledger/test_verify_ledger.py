"""``manage.py verify_ledger``: what a reviewer runs to see that nothing was rewritten."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models, transaction

from rlvram_site.ledger.chain import head, link_digest, record_all
from rlvram_site.ledger.models import LedgerEntry
from studies.models import Event
from tests.bypass import without_triggers
from tests.factories import make_pool, make_small_study, make_study


@pytest.fixture
def study(db):
    """A study whose stream has 1 + 5 links."""
    study = make_study(slug="panel")
    record_all(
        Event(study=study, position=n, kind="preflight", status="noted", title=f"event {n}") for n in range(5)
    )
    return study


@pytest.fixture
def forger(study):
    """SQL past the triggers; everything is undone after the test, broken relations too."""

    def run(sql, *values):
        with without_triggers(), connection.cursor() as cursor:
            cursor.execute(sql, values)

    with transaction.atomic():
        yield run
        transaction.set_rollback(True)


def verify(capsys, *arguments):
    """Exit status and printed lines."""
    try:
        call_command("verify_ledger", *map(str, arguments))
        status = 0
    except CommandError as error:
        status, message = 1, str(error)
    out = capsys.readouterr().out.splitlines()
    return (status, out) if status == 0 else (status, [*out, message])


def plain(model):
    """Rows of ``model`` without our manager's refusals."""
    return models.QuerySet(model)


def test_nothing_recorded_yet(db, capsys):
    assert verify(capsys) == (0, ["nothing is recorded yet"])


def test_one_line_per_stream(study, capsys):
    pool = make_pool(slug="fitting")
    status, lines = verify(capsys)
    assert status == 0
    assert lines == [
        f"ok      pool/fitting  1 links, head {head(pool.stream).sha256}",
        f"ok      study/panel  6 links, head {head(study.stream).sha256}",
    ]


@pytest.mark.parametrize("argument", ["study/panel", "panel", "pan", "study/"])
def test_one_stream_by_its_name_or_its_slug(study, capsys, argument):
    make_pool(slug="fitting")
    status, lines = verify(capsys, argument)
    assert (status, len(lines)) == (0, 1)
    assert lines[0].startswith("ok      study/panel  6 links")


def test_an_unknown_stream_is_an_error(study, capsys):
    assert verify(capsys, "nowhere") == (1, ["no stream starts with 'nowhere'"])


FORGERIES = {
    "row changed": (
        "UPDATE studies_event SET title = 'nicer' WHERE position = 2",
        "link 4: studies.event {2} no longer has the content that was recorded",
    ),
    "number in a row changed": (
        "UPDATE studies_event SET gpu_seconds = 1 WHERE position = 3",
        "link 5: studies.event {3} no longer has the content that was recorded",
    ),
    "time of recording changed": (
        "UPDATE studies_event SET recorded_at = '2020-01-01 00:00:00+00:00' WHERE position = 0",
        "link 2: studies.event {0} no longer has the content that was recorded",
    ),
    "first row changed": (
        "UPDATE studies_study SET question = 'Another?'",
        "link 1: studies.study {study} no longer has the content that was recorded",
    ),
    "row deleted": (
        "DELETE FROM studies_event WHERE position = 1",
        "link 3: studies.event {1} is gone or unreadable",
    ),
    "actor of a link changed": (
        "UPDATE ledger_ledgerentry SET actor = 'somebody else' WHERE sequence = 4",
        "link 4: the link itself was changed (studies.event {2})",
    ),
    "digest of a link changed": (
        "UPDATE ledger_ledgerentry SET payload_sha256 = '" + "0" * 64 + "' WHERE sequence = 2",
        "link 2: the link itself was changed (studies.event {0})",
    ),
    "link removed in the middle": (
        "DELETE FROM ledger_ledgerentry WHERE sequence = 3",
        "link 3: missing; the next link present is 4 (studies.event {2})",
    ),
    "first link removed": (
        "DELETE FROM ledger_ledgerentry WHERE sequence = 1",
        "link 1: missing; the next link present is 2 (studies.event {0})",
    ),
    "stream renamed": (
        "UPDATE ledger_ledgerstream SET name = 'study/panel-2'",
        "link 1: the link itself was changed (studies.study {study})",
    ),
    "row moved to another study": (
        "UPDATE studies_event SET study_id = 987654 WHERE position = 4",
        "link 6: studies.event {4} now says it belongs to something that is gone",
    ),
    "kind of record unknown": (
        "UPDATE ledger_ledgerentry SET record_type = 'studies.nothing' WHERE sequence = 2",
        "link 2: the link itself was changed (studies.nothing {0})",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_behind_the_triggers_is_named(study, forger, capsys, name):
    sql, expected = FORGERIES[name]
    keys = {str(event.position): event.pk for event in Event.objects.all()} | {"study": study.pk}
    for place, key in keys.items():
        expected = expected.replace("{" + place + "}", str(key))
    forger(sql)
    status, lines = verify(capsys)
    assert status == 1
    assert any(line.startswith("BROKEN") and expected in line for line in lines), lines
    assert expected in lines[-1]


def test_a_row_without_a_link_is_named(study, forger, capsys):
    (event,) = plain(Event).bulk_create(
        [Event(study=study, position=9, kind="forged", status="noted", title="slipped in")]
    )
    status, lines = verify(capsys)
    assert status == 1
    assert lines[-2] == (
        f"BROKEN  study/panel  studies.event {event.pk} was inserted outside the ledger: no link names it"
    )


def test_a_link_that_was_recomputed_breaks_the_next_one(study, forger, capsys):
    link = LedgerEntry.objects.get(sequence=3)
    link.actor = "somebody else"
    forger(
        "UPDATE ledger_ledgerentry SET actor = %s, sha256 = %s WHERE id = %s",
        link.actor, link_digest(link, study.stream), link.pk,
    )  # fmt: skip
    status, lines = verify(capsys)
    assert status == 1
    assert "link 4: does not follow from the link before it" in lines[-1]


def test_a_link_removed_at_the_end_shows_against_a_kept_head(study, forger, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    assert verify(capsys, "--export-heads", kept)[0] == 0
    last = LedgerEntry.objects.get(sequence=6)
    forger("DELETE FROM ledger_ledgerentry WHERE id = %s", last.pk)
    forger("DELETE FROM studies_event WHERE id = %s", last.record_id)
    assert verify(capsys)[0] == 0  # what is left is a valid, shorter history
    status, lines = verify(capsys, "--heads", kept)
    assert status == 1
    assert "study/panel  it has 5 links, the kept head has 6: history was cut" in lines[-1]


def test_a_history_that_was_rebuilt_shows_against_a_kept_head(study, forger, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    verify(capsys, "--export-heads", kept)
    forger("DELETE FROM ledger_ledgerentry")
    forger("DELETE FROM studies_event")
    forger("DELETE FROM studies_study")
    study = make_study(slug="panel")
    record_all(Event(study=study, position=n, kind="x", status="noted", title="other") for n in range(5))
    assert verify(capsys)[0] == 0
    status, lines = verify(capsys, "--heads", kept)
    assert status == 1
    assert "link 6 is" in lines[-1]
    assert "history was rewritten" in lines[-1]


def test_history_that_only_grew_extends_the_kept_head(study, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    verify(capsys, "--export-heads", kept)
    Event(study=study, position=5, kind="x", status="noted", title="later").save()
    make_small_study()
    assert verify(capsys, "--heads", kept)[0] == 0


def test_since_a_kept_head_only_what_came_after_is_walked(study, forger, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    verify(capsys, "--export-heads", kept)
    Event(study=study, position=5, kind="x", status="noted", title="later").save()
    make_small_study()
    status, lines = verify(capsys, "--since", kept)
    assert status == 0
    assert any(line.startswith("ok      study/panel  7 links, 1 of them walked") for line in lines)
    assert verify(capsys, "--since", kept, "panel")[0] == 0
    forger("UPDATE studies_event SET title = 'other' WHERE position = 5")
    status, lines = verify(capsys, "--since", kept)
    assert status == 1
    assert "study/panel  link 7: studies.event" in lines[-1]


def test_since_a_head_that_is_not_there_any_more_nothing_passes(study, forger, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    verify(capsys, "--export-heads", kept)
    forger("UPDATE ledger_ledgerentry SET sha256 = %s WHERE sequence = 6", "0" * 64)
    assert "history was rewritten" in verify(capsys, "--since", kept)[1][-1]
    for table in ("ledger_ledgerentry", "studies_event", "studies_studyprojection", "studies_study"):
        forger(f"DELETE FROM {table}")
    forger("DELETE FROM ledger_ledgerstream")
    assert "history was cut" in verify(capsys, "--since", kept)[1][-1]


def test_exported_heads_say_what_they_are(study, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    status, lines = verify(capsys, "--export-heads", kept)
    assert (status, lines[-1]) == (0, f"wrote   {kept}")
    document = json.loads(kept.read_text())
    assert document["format"] == "rlvram-heads/1"
    assert document["heads"] == [
        {"stream": "study/panel", "sequence": 6, "sha256": head("study/panel").sha256}
    ]


def test_an_existing_file_is_not_overwritten(study, capsys, tmp_path):
    kept = tmp_path / "heads.json"
    kept.write_text("precious")
    status, lines = verify(capsys, "--export-heads", kept)
    assert (status, lines) == (1, [f"--export-heads: {kept} exists already and is not overwritten"])
    assert kept.read_text() == "precious"


def test_a_broken_ledger_exports_no_heads(study, forger, capsys, tmp_path):
    forger("DELETE FROM studies_event WHERE position = 1")
    assert verify(capsys, "--export-heads", tmp_path / "heads.json")[0] == 1
    assert not (tmp_path / "heads.json").exists()


def test_a_folder_that_does_not_exist_is_named(study, capsys, tmp_path):
    path = tmp_path / "nowhere" / "heads.json"
    status, lines = verify(capsys, "--export-heads", path)
    assert (status, lines[-1]) == (1, f"--export-heads: {path} cannot be written: No such file or directory")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", 'expected an object with "format": "rlvram-heads/1"'),
        ('{"format": "rlvram-heads/2", "heads": []}', 'expected an object with "format": "rlvram-heads/1"'),
        ('{"format": "rlvram-heads/1"}', "heads is None, expected a list"),
        ('{"format": "rlvram-heads/1", "heads": [7]}', "heads[0] is 7, expected an object"),
        (
            '{"format": "rlvram-heads/1", "heads": [{"stream": "", "sequence": 1, "sha256": ""}]}',
            "heads[0].stream is '', expected a stream's name",
        ),
        (
            '{"format": "rlvram-heads/1", "heads": [{"stream": "s", "sequence": -1, "sha256": ""}]}',
            "heads[0].sequence is -1, expected a whole number from 0",
        ),
        (
            '{"format": "rlvram-heads/1", "heads": [{"stream": "s", "sequence": 1, "sha256": "abc"}]}',
            "heads[0].sha256 is 'abc', expected 64 hexadecimal digits",
        ),
    ],
)
def test_a_heads_file_that_is_not_one_is_explained(study, capsys, tmp_path, content, message):
    path = tmp_path / "heads.json"
    path.write_text(content)
    status, lines = verify(capsys, "--heads", path)
    assert status == 1
    assert lines[-1].startswith(str(path))
    assert message in lines[-1]


def test_a_heads_file_that_is_missing_is_named(study, capsys, tmp_path):
    status, lines = verify(capsys, "--heads", tmp_path / "none.json")
    assert (status, lines) == (1, [f"{tmp_path / 'none.json'}: cannot be read: No such file or directory"])


def test_a_long_stream_is_walked_to_its_end(study, forger, capsys):
    record_all(Event(study=study, position=n, kind="x", status="noted", title="x") for n in range(5, 1205))
    assert verify(capsys)[1][0].startswith("ok      study/panel  1206 links")
    forger("UPDATE studies_event SET title = 'y' WHERE position = 1100")
    assert "link 1102: " in verify(capsys)[1][-1]
