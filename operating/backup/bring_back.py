"""Bringing a backup back, on the engine it was made on or, as rows, on the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection

from operating.backup import evidence, folder, postgresql, rows, sqlite
from operating.backup.folder import DATABASE_FILES, BackupError, Manifest
from operating.backup.make import Progress
from rlvram_site.ledger.models import LedgerEntry


def check(backup: Path, progress: Progress) -> Manifest:
    """Read everything that a backup holds and compare it with its hashes. Raises ``BackupError``."""
    manifest = folder.read_manifest(backup)
    folder.check_parts(backup, manifest)
    if manifest.form == "postgresql":
        postgresql.check(backup / DATABASE_FILES["postgresql"])
    here = _evidence(backup, manifest)
    for sha256 in progress(here, len(here)):
        evidence.check(backup.parent, sha256)
    return manifest


def bring_back(backup: Path, *, replace: bool, progress: Progress, say: Callable[[str], None]) -> Manifest:
    """Make the site what the backup is, and bring it to this version's migrations.

    Evidence comes first: it disturbs nothing, and a restore that ends there goes on when it is called again.
    Raises ``BackupError``, before anything was changed if the backup is not whole or does not fit.
    """
    manifest = folder.read_manifest(backup)
    if manifest.form not in ("rows", connection.vendor):
        raise BackupError(
            f"{backup}: the database in it is of {manifest.form}, the site runs on {connection.vendor}; "
            "make one with backup --form rows, which either takes"
        )
    if not replace and (what := _holds()):
        raise BackupError(f"the site's database is not empty: it has {what}. --replace does away with it")
    folder.check_parts(backup, manifest)
    if manifest.form == "postgresql":
        postgresql.check(backup / DATABASE_FILES["postgresql"])
    here = _evidence(backup, manifest)
    copied = sum(evidence.copy_in(backup.parent, sha256) == "copied" for sha256 in progress(here, len(here)))
    say(f"evidence: {copied} files copied, {len(here) - copied} were here")
    _bring_database(backup / DATABASE_FILES[manifest.form], manifest)
    say(f"database: as of {manifest.made_at}")
    call_command("migrate", interactive=False, verbosity=0)
    return manifest


def _bring_database(path: Path, manifest: Manifest) -> None:
    if manifest.form == "sqlite":
        sqlite.copy_from(path)
        return
    if connection.vendor == "postgresql":
        postgresql.empty()
    else:
        sqlite.empty()
    if manifest.form == "rows":
        rows.read(path, manifest)
    else:
        postgresql.restore(path)


def _holds() -> str:
    """What the site's database holds that a restore would do away with; empty if nothing."""
    tables = set(connection.introspection.table_names())
    users: Any = get_user_model()
    for model, word in ((LedgerEntry, "recorded rows"), (users, "users")):
        if model._meta.db_table in tables and model._default_manager.exists():
            return word
    ours = {"django_migrations"} & tables
    return "" if ours or not tables else f"tables that are not the site's, such as {min(tables)}"


def _evidence(backup: Path, manifest: Manifest) -> list[str]:
    listed = json.loads((backup / folder.EVIDENCE_LIST).read_text(encoding="utf-8"))
    missing = set(manifest.missing_evidence)
    return [sha256 for sha256 in listed if sha256 not in missing]
