"""``manage.py backup`` and ``restore``: the whole site, copied while others write, comes back as it was."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from operating.backup import folder as backup_folder
from operating.backup import postgresql
from rlvram_site.api.keys import issue_key
from rlvram_site.ledger.verify import verify_streams
from studies.models import Event, Study
from studies.services.outcomes import evidence_store
from tests.factories import make_blob, make_study
from tests.operating.databases import another_database, here, manage
from tests.processes import start_python

LOGS = [b"CUDA out of memory\n" * 50, b"done\n", bytes(range(256)) * 2000]


@pytest.fixture
def site(transactional_db, tmp_path, settings) -> Study:
    """A small site: a login, a key, a study with events and three files of evidence, with its own folder."""
    settings.DATA_DIR = tmp_path / "data"
    settings.MEDIA_ROOT = settings.DATA_DIR / "files"
    user = get_user_model().objects.create_user("ada", password="a long enough password")
    issue_key(name="host", owner=user, scopes=["read"])
    study = make_study(slug="backed-up", title="Ünïcode ☃")
    Event(study=study, position=0, kind="x", status="noted", title="first").save()
    for log in LOGS:
        make_blob(study, log)
    return study


@pytest.fixture
def data(settings, site) -> dict[str, str]:
    return {"DATA_DIR": str(settings.DATA_DIR)}


def only_backup(root: Path) -> Path:
    (path,) = backup_folder.backups(root)
    return path


def succeeded(done) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(done) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def heads() -> dict[str, str]:
    return {report.head.stream: report.head.sha256 for report in verify_streams()}


def heads_in(backup: Path) -> dict[str, str]:
    kept = json.loads((backup / "heads.json").read_text())["heads"]
    return {head["stream"]: head["sha256"] for head in kept}


@pytest.mark.parametrize("form", [(), ("--form", "rows")], ids=["own-form", "rows"])
def test_a_site_comes_back_as_it_was(site, data, tmp_path, form):
    succeeded(manage("backup", tmp_path / "b", *form, **data))
    assert heads_in(only_backup(tmp_path / "b")) == heads()
    password = get_user_model().objects.get().password
    with another_database(tmp_path) as url:
        there = {"DATABASE_URL": url, "DATA_DIR": str(tmp_path / "there")}
        said = succeeded(manage("restore", tmp_path / "b", **there))
        for stream, sha256 in heads().items():
            assert f"ok      {stream}" in said
            assert sha256 in said
        asked = (
            "from studies.models import *; from django.contrib.auth import get_user_model as u;"
            "from rlvram_site.ledger.triggers import missing;"
            "from studies.services.outcomes.evidence_store import open_stored as o;"
            "s = Study.objects.get();"
            "print(u().objects.get().password, missing(), s.title,"
            "[len(o(b.sha256).read()) for b in EvidenceBlob.objects.order_by('pk')]);"
            "Event(study=s, position=1, kind='x', status='noted', title='next').save()"
        )
        answer = succeeded(manage("shell", "--no-imports", "-c", asked, **there))
        assert answer.strip() == f"{password} [] Ünïcode ☃ {[len(log) for log in LOGS]}"
        # What was recorded after the restore extends the chain.
        succeeded(manage("verify_ledger", "--heads", only_backup(tmp_path / "b") / "heads.json", **there))


def test_a_backup_while_others_write_is_of_one_moment(site, data, tmp_path):
    writer = start_python("-m", "tests.operating.writer", site.slug, **data)
    try:
        for _ in range(5):
            writer.stdout.readline()
        succeeded(manage("backup", tmp_path / "b", **data))
        after = int(writer.stdout.readline())
    finally:
        writer.kill()
        writer.communicate()
    assert after > 4
    kept = json.loads((only_backup(tmp_path / "b") / "heads.json").read_text())["heads"]
    links = next(head["sequence"] for head in kept if head["stream"] == site.stream)
    with another_database(tmp_path) as url:
        there = {"DATABASE_URL": url, "DATA_DIR": str(tmp_path / "there")}
        said = succeeded(manage("restore", tmp_path / "b", **there))
    assert f"ok      {site.stream}  {links} links" in said
    # Nobody was held up or lost anything meanwhile.
    assert Event.objects.filter(study=site).count() >= after


def test_the_next_backup_copies_only_what_is_new_and_keeps_as_many_as_told(site, data, tmp_path):
    assert "3 files, 3 of them copied now" in succeeded(manage("backup", tmp_path / "b", **data))
    make_blob(site, b"one more\n")
    first = only_backup(tmp_path / "b")
    assert "4 files, 1 of them copied now" in succeeded(
        manage("backup", tmp_path / "b", "--keep", "1", **data)
    )
    assert not first.exists()
    assert len(list((tmp_path / "b" / "evidence").glob("*/*.gz"))) == 4


def test_a_backup_that_was_killed_is_none_and_the_next_goes_on(site, data, tmp_path):
    root = tmp_path / "b"
    root.mkdir()
    unfinished = backup_folder.new_folder(root, "20260101T000000Z")
    (unfinished / "database.sqlite3").write_bytes(b"half")
    assert "no complete backup" in refused(here("restore", root))
    succeeded(manage("backup", root, **data))
    assert not unfinished.exists()


def test_two_backups_into_one_folder_at_once_are_refused(site, data, tmp_path):
    with backup_folder.locked(tmp_path / "b"):
        assert "another backup is being written" in refused(manage("backup", tmp_path / "b", **data))


def test_a_site_that_is_not_empty_is_left_alone_unless_told(site, data, tmp_path):
    succeeded(manage("backup", tmp_path / "b", **data))
    Event(study=site, position=7, kind="x", status="noted", title="later").save()
    assert "recorded rows. --replace does away" in refused(here("restore", tmp_path / "b"))
    assert Event.objects.filter(title="later").exists()
    connection.close()
    succeeded(manage("restore", tmp_path / "b", "--replace", **data))
    assert list(Event.objects.values_list("title", flat=True)) == ["first"]


def test_missing_evidence_is_said_and_the_rest_is_kept(site, data, tmp_path, settings):
    gone = evidence_store.store([LOGS[1]], "log").sha256
    for path in Path(settings.MEDIA_ROOT).rglob(f"*{gone}*"):
        path.unlink()
    assert f"1 files of evidence are recorded but not here whole, the first: {gone}" in refused(
        manage("backup", tmp_path / "b", **data)
    )
    succeeded(here("restore", tmp_path / "b", "--check"))


@pytest.mark.parametrize("what", ["evidence", "database"])
def test_a_damaged_backup_is_refused_before_anything_changes(site, data, tmp_path, what):
    succeeded(manage("backup", tmp_path / "b", **data))
    backup = only_backup(tmp_path / "b")
    if what == "evidence":
        victim = next((tmp_path / "b" / "evidence").glob("*/*.gz"))
        victim.write_bytes(gzip.compress(b"other bytes"))
    else:
        victim = next(backup.glob("database.*"))
        whole = victim.read_bytes()
        victim.write_bytes(whole[: len(whole) // 2])
    assert str(victim) in refused(here("restore", tmp_path / "b", "--check"))
    with another_database(tmp_path) as url:
        there = {"DATABASE_URL": url, "DATA_DIR": str(tmp_path / "there")}
        assert str(victim) in refused(manage("restore", tmp_path / "b", **there))
        asked = "from django.db import connection; print(connection.introspection.table_names())"
        assert succeeded(manage("shell", "--no-imports", "-c", asked, **there)).strip() == "[]"


@pytest.mark.one_engine("the message comes before the database")
def test_a_manifest_that_is_not_as_expected_is_named(site, data, tmp_path):
    succeeded(manage("backup", tmp_path / "b", **data))
    path = only_backup(tmp_path / "b") / "manifest.json"
    whole = json.loads(path.read_text())
    for change, expected in [
        ({"format": "rlvram-backup/9"}, 'expected an object with "format"'),
        ({"form": "oracle"}, "expected one of sqlite, postgresql, rows"),
        ({"parts": [{"name": "database.sqlite3"}]}, "missing"),
        ({"form": "postgresql"}, "the site runs on sqlite"),
    ]:
        path.write_text(json.dumps(whole | change))
        assert expected in refused(here("restore", tmp_path / "b", "--replace"))


@pytest.mark.one_engine("the message comes before the database")
def test_rows_of_a_newer_version_are_refused(site, data, tmp_path):
    succeeded(manage("backup", tmp_path / "b", "--form", "rows", **data))
    manifest = only_backup(tmp_path / "b") / "manifest.json"
    document = json.loads(manifest.read_text())
    document["migrations"]["studies"].append("9999_from_the_future")
    manifest.write_text(json.dumps(document))
    there = {"DATABASE_URL": f"sqlite:///{tmp_path / 'x.sqlite3'}", "DATA_DIR": str(tmp_path / "there")}
    assert "studies.9999_from_the_future, which this version doesn't know" in refused(
        manage("restore", tmp_path / "b", **there)
    )


@pytest.mark.one_engine("a file of SQLite")
def test_the_copy_of_an_embedded_site_is_one_plain_file(site, data, tmp_path):
    succeeded(manage("backup", tmp_path / "b", **data))
    backup = only_backup(tmp_path / "b")
    assert sorted(path.name for path in backup.iterdir()) == [
        "database.sqlite3", "evidence.json", "heads.json", "manifest.json",
    ]  # fmt: skip
    assert {path.stat().st_mode & 0o077 for path in [backup, *backup.iterdir()]} == {0}
    with closing(sqlite3.connect(backup / "database.sqlite3")) as copy:
        assert copy.execute("SELECT slug FROM studies_study").fetchall() == [("backed-up",)]


@pytest.mark.one_engine("looks for programs, not at a database")
def test_programs_of_the_wrong_version_are_said(tmp_path, monkeypatch):
    monkeypatch.setattr(postgresql, "DEBIAN", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(backup_folder.BackupError, match=r"pg_dump was not found.*client-15"):
        postgresql.program("pg_dump", 15)
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.1'\n")
    old.chmod(0o755)
    with pytest.raises(backup_folder.BackupError, match="pg_dump has version 9, the server 15"):
        postgresql.program("pg_dump", 15)
    assert postgresql.program("pg_dump", 9) == str(old)


def test_a_site_moves_to_the_other_engine_and_back(site, data, tmp_path):
    """Rows go to PostgreSQL and from there into SQLite; every head stays what it was."""
    succeeded(manage("backup", tmp_path / "b", "--form", "rows", **data))
    with another_database(tmp_path) as url:
        there = {"DATABASE_URL": url, "DATA_DIR": str(tmp_path / "there")}
        succeeded(manage("restore", tmp_path / "b", **there))
        succeeded(manage("backup", tmp_path / "c", "--form", "rows", **there))
    other = {"DATABASE_URL": f"sqlite:///{tmp_path / 'back.sqlite3'}", "DATA_DIR": str(tmp_path / "back")}
    succeeded(manage("restore", tmp_path / "c", **other))
    said = succeeded(manage("verify_ledger", "--heads", only_backup(tmp_path / "b") / "heads.json", **other))
    assert all(sha256 in said for sha256 in heads().values())
