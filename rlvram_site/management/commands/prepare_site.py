"""Everything that an embedded site needs before it can be served, in one process."""

from __future__ import annotations

import json
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from rlvram_site.disk import is_full, shortage


class Command(BaseCommand):
    help = "Migrates the database, collects static files, loads the bundled samples, creates a login."

    def handle(self, *args, **options) -> None:
        if short := shortage():
            self.stderr.write(f"the disk is nearly full, so uploads will be refused: {short}")
        try:
            self._prepare()
        except (OSError, DatabaseError) as error:
            if not is_full(error):
                raise
            raise CommandError(
                f"the disk is full: free some space around {settings.DATA_DIR} and start again; "
                "nothing recorded is lost"
            ) from error

    def _prepare(self) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        if not _collected():
            call_command("collectstatic", interactive=False, verbosity=0)
        for command in ("load_samples", "ensure_login"):
            call_command(command, stdout=self.stdout, stderr=self.stderr)


def _collected() -> bool:
    """True when every static file was collected and none changed since: hashing them anew takes seconds."""
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    if not manifest.exists():
        return False
    made = manifest.stat().st_mtime
    known = json.loads(manifest.read_text(encoding="utf-8"))["paths"]
    return all(
        name in known and Path(storage.path(name)).stat().st_mtime <= made
        for finder in get_finders()
        for name, storage in finder.list(None)
    )
