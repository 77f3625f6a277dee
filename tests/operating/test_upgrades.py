"""Sites and bundles that earlier versions left: migrated and read, with chains and triggers whole."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path

import pytest
from django.core.management import call_command

from operating.backup.folder import backups, read_manifest
from studies.models import Study
from tests.operating.databases import another_database, manage
from tests.operating.make_upgrade_fixture import STUDY, UPGRADES

KEPT = sorted(path for path in UPGRADES.iterdir() if path.is_dir())
each_version = pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
ASKED = (
    "from rlvram_site.ledger.triggers import missing; from rlvram_site.api.keys import ApiKey;"
    "from studies.models import *; from studies.services.outcomes.evidence_store import open_stored;"
    "s = Study.objects.get(slug='kept'); b = EvidenceBlob.objects.get();"
    "print(missing(), ApiKey.objects.get().name, Job.objects.get().state, open_stored(b.sha256).read());"
    "Event(study=s, position=90, kind='x', status='noted', title='after the upgrade').save()"
)
EXPECTED = r"[] a host queued b'torch.OutOfMemoryError: CUDA out of memory\n'"


def unpacked(kept: Path, form: str, folder: Path) -> Path:
    """The kept backups, with the one of ``form`` alone."""
    root = Path(shutil.copytree(kept / "backup", folder / "backup"))
    for packed in root.glob("*/*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    for backup in backups(root):
        if read_manifest(backup).form != form:
            shutil.rmtree(backup)
    return root


def upgraded(root: Path, **environment: str) -> None:
    for command in (
        ("restore", root),
        ("verify_ledger", "--heads", backups(root)[0] / "heads.json"),
        ("migrate", "--check"),
    ):
        done = manage(*command, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
    done = manage("shell", "--no-imports", "-c", ASKED, **environment)
    assert done.stdout.strip() == EXPECTED, done.stderr
    assert manage("verify_ledger", **environment).returncode == 0


@each_version
def test_rows_of_an_earlier_version_are_migrated_on_this_engine(db, kept, tmp_path):
    with another_database(tmp_path) as url:
        root = unpacked(kept, "rows", tmp_path)
        upgraded(root, DATABASE_URL=url, DATA_DIR=str(tmp_path / "data"))


@pytest.mark.one_engine("a file of SQLite")
@each_version
def test_the_file_of_an_earlier_embedded_site_is_migrated(db, kept, tmp_path):
    root = unpacked(kept, "sqlite", tmp_path)
    upgraded(root, DATABASE_URL=f"sqlite:///{tmp_path / 'x.sqlite3'}", DATA_DIR=str(tmp_path / "data"))


@each_version
def test_bundles_of_an_earlier_version_are_read(db, kept, tmp_path):
    for command, name in (("import_study", "study.json"), ("import_record", "issue.json")):
        bundle = tmp_path / name
        bundle.write_bytes(lzma.decompress((kept / f"{name}.xz").read_bytes()))
        call_command(command, str(bundle), verbosity=0)
    assert Study.objects.filter(slug=STUDY).exists()
    call_command("verify_ledger", verbosity=0)


def test_what_is_kept_is_small():
    assert KEPT
    size = sum(path.stat().st_size for path in UPGRADES.rglob("*") if path.is_file())
    assert size < 300_000 * len(KEPT)


@each_version
def test_kept_heads_are_those_of_the_kept_rows(kept):
    for backup in backups(kept / "backup"):
        heads = json.loads((backup / "heads.json").read_text())["heads"]
        assert sum(head["sequence"] for head in heads) == read_manifest(backup).links
