"""Copy the whole site into a folder while it runs."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from operating.backup.folder import DATABASE_FILES, BackupError
from operating.backup.make import make
from operating.progress import bar


class Command(BaseCommand):
    help = (
        "Adds a backup of database and evidence to a folder, while the site runs. Evidence that an earlier "
        "backup copied there is not copied again, so a backup that was stopped goes on where it was."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="folder of backups; made if it is not there")
        parser.add_argument(
            "--form",
            choices=sorted(DATABASE_FILES),
            default="",
            help="rows: a form that either engine takes (default: the engine's own)",
        )
        parser.add_argument("--keep", type=int, default=0, help="remove all but the newest so many backups")

    def handle(self, *args, folder: Path, form: str, keep: int, **options) -> None:
        if keep < 0:
            raise CommandError(f"--keep {keep}: expected a number from 1, or 0 for all")
        before = os.umask(0o077)  # a copy holds what the site keeps from others
        try:
            made = make(folder.resolve(), form, keep, bar(self.stderr, "evidence"))
        except (BackupError, OSError, DatabaseError) as error:
            raise CommandError(str(error)) from error
        finally:
            os.umask(before)
        manifest = made.manifest
        self.stdout.write(
            f"backup  {made.path}  {manifest.form}, {manifest.parts[0].bytes} bytes, {manifest.links} links"
        )
        self.stdout.write(
            f"evidence  {manifest.evidence_files} files, {made.copied} of them copied now, "
            f"{manifest.evidence_bytes} bytes unpacked"
        )
        for path in made.removed:
            self.stdout.write(f"removed  {path}")
        if made.problem:
            raise CommandError(f"the backup is complete as far as the site is: {made.problem}")
