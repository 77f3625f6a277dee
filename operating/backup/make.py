"""Making a backup while the site runs."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import django
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from host.version import product_version
from operating.backup import evidence, folder, postgresql, rows, sqlite
from operating.backup.folder import DATABASE_FILES, BackupError, Manifest
from operating.models import Backup
from rlvram_site.ledger.chain import Head
from rlvram_site.ledger.heads import heads_document
from rlvram_site.ledger.models import LedgerEntry, LedgerStream
from studies.models import EvidenceBlob

Progress = Callable[[Iterable[str], int], Iterable[str]]


@dataclass
class Made:
    """A finished backup, and what is wrong with the site that it is a copy of."""

    path: Path
    manifest: Manifest
    copied: int = 0
    removed: list[Path] = field(default_factory=list)

    @property
    def problem(self) -> str:
        missing = self.manifest.missing_evidence
        if not missing:
            return ""
        return f"{len(missing)} files of evidence are recorded but not here whole, the first: {missing[0]}"


def make(root: Path, form: str = "", keep: int = 0, progress: Progress = lambda items, total: items) -> Made:
    """Add a backup to ``root``: the database of one moment, its heads, and all evidence that it names.

    ``form`` is one of ``DATABASE_FILES``, else the engine's own; ``keep`` more than 0 removes older backups.
    Raises ``BackupError``; what was copied of the evidence stays, so that the next try goes on from there.
    """
    form = form or connection.vendor
    if form not in ("rows", connection.vendor):
        raise BackupError(f"--form {form}: the site runs on {connection.vendor}, expected that or rows")
    _require_migrated()
    started = timezone.now()
    with folder.locked(root):
        unfinished = folder.new_folder(root, started.strftime("%Y%m%dT%H%M%SZ"))
        manifest = Manifest(
            made_at=started.strftime("%Y-%m-%dT%H:%M:%SZ"), form=form, versions=_versions(), migrations={}
        )
        with _database(unfinished, form) as alias:
            heads = _heads(alias)
            manifest.migrations = _applied(alias)
            named: dict[str, int] = dict(
                EvidenceBlob.objects.using(alias).order_by("sha256").values_list("sha256", "size_bytes")
            )
        folder.sync_file(unfinished / DATABASE_FILES[form])
        folder.write_durably(unfinished / folder.HEADS, folder.heads_text(heads_document(heads)))
        made = Made(unfinished, manifest)
        _copy_evidence(root, named, made, progress)
        folder.write_durably(unfinished / folder.EVIDENCE_LIST, json.dumps(sorted(named), indent=0) + "\n")
        manifest.links = sum(head.sequence for head in heads)
        manifest.parts = [
            folder.describe(unfinished / name)
            for name in (DATABASE_FILES[form], folder.HEADS, folder.EVIDENCE_LIST)
        ]
        made.path = folder.finish(unfinished, manifest)
        if keep:
            made.removed = folder.remove_oldest(root, keep)
    Backup.objects.create(
        started_at=started, finished_at=timezone.now(), form=form,
        place=f"{platform.node()}:{made.path}"[:500],
        database_bytes=manifest.parts[0].bytes, evidence_files=manifest.evidence_files,
        evidence_bytes=manifest.evidence_bytes, problem=made.problem,
    )  # fmt: skip
    return made


@contextmanager
def _database(unfinished: Path, form: str) -> Iterator[str]:
    """Write the database's file; inside, the yielded connection reads exactly what is in it."""
    target = unfinished / DATABASE_FILES[form]
    if connection.vendor == "postgresql":
        with postgresql.frozen() as snapshot:
            if form == "rows":
                rows.write(target, "default")
            else:
                postgresql.dump(target, snapshot)
            yield "default"
        return
    copy = unfinished / DATABASE_FILES["sqlite"]
    sqlite.copy_to(copy)
    with sqlite.reading(copy) as alias:
        if form == "rows":
            rows.write(target, alias)
        yield alias
    if form == "rows":
        copy.unlink()


def _heads(alias: str) -> list[Head]:
    """The end of every stream, as the copy has it."""
    last = LedgerEntry.objects.filter(stream=OuterRef("pk")).order_by("-sequence")
    streams = LedgerStream.objects.using(alias).annotate(
        length=Subquery(last.values("sequence")[:1]), end=Subquery(last.values("sha256")[:1])
    )
    return [Head(one.name, one.length or 0, one.end or "") for one in streams.order_by("name")]


def _applied(alias: str) -> dict[str, list[str]]:
    applied: dict[str, list[str]] = {}
    for app, name in sorted(MigrationRecorder(connections[alias]).applied_migrations()):
        applied.setdefault(app, []).append(name)
    return applied


def _require_migrated() -> None:
    executor = MigrationExecutor(connection)
    if plan := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        first = plan[0][0]
        raise BackupError(
            f"the database lacks {len(plan)} migrations of this version, the first {first.app_label}."
            f"{first.name}; make the backup with the version that it is at, or run manage.py migrate"
        )


def _versions() -> dict[str, str]:
    connection.ensure_connection()
    number = ".".join(str(part) for part in connection.get_database_version())
    return {
        "site": product_version(), "django": django.get_version(), "python": platform.python_version(),
        connection.vendor: number,
    }  # fmt: skip


def _copy_evidence(root: Path, named: dict[str, int], made: Made, progress: Progress) -> None:
    manifest = made.manifest
    for sha256 in progress(named, len(named)):
        how = evidence.copy_out(root, sha256)
        if how in ("missing", "damaged"):
            manifest.missing_evidence.append(sha256)
            continue
        made.copied += how == "copied"
        manifest.evidence_files += 1
        manifest.evidence_bytes += named[sha256]
