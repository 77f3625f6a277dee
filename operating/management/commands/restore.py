"""Make the site what a backup of it is."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from operating.backup import bring_back as bringing
from operating.backup.folder import HEADS, BackupError, chosen
from operating.progress import bar


class Command(BaseCommand):
    help = (
        "Brings back the newest backup of a folder, migrates it to this version, and walks the ledger "
        "against the heads that were kept with it. Stop the site before. Refuses a site that is not empty."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="folder that manage.py backup wrote")
        parser.add_argument("--at", default="", metavar="NAME", help="this backup of it, not the newest")
        parser.add_argument("--replace", action="store_true", help="do away with what the site holds now")
        parser.add_argument(
            "--check", action="store_true", help="only read the backup and compare its hashes"
        )

    def handle(self, *args, folder: Path, at: str, replace: bool, check: bool, **options) -> None:
        before = os.umask(0o077)  # a copy holds what the site keeps from others
        progress = bar(self.stderr, "evidence")
        try:
            backup = chosen(folder.resolve(), at)
            if check:
                manifest = bringing.check(backup, progress)
                self.stdout.write(f"whole  {backup}  {manifest.evidence_files} files of evidence")
                return
            bringing.bring_back(backup, replace=replace, progress=progress, say=self.stdout.write)
        except (BackupError, OSError, DatabaseError) as error:
            raise CommandError(str(error)) from error
        finally:
            os.umask(before)
        call_command("verify_ledger", heads=backup / HEADS, stdout=self.stdout, stderr=self.stderr)
        self.stdout.write(f"restored  {backup}")
