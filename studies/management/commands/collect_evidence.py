"""Remove stored files that no record names."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from rlvram_site.evidence_storage import StoreUnreachable
from studies.services.outcomes.evidence_leftovers import collect


class Command(BaseCommand):
    help = "Removes files of killed, refused or forgotten uploads. What any study has recorded stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
        parser.add_argument(
            "--older-than-hours", type=float, default=settings.EVIDENCE_GRACE_HOURS, metavar="N",
            help="leave younger files alone: an upload may be on its way (default %(default)g)",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        hours, dry_run = options["older_than_hours"], options["dry_run"]
        if not 0 <= hours < 1_000_000:
            raise CommandError(f"--older-than-hours is {hours:g}, expected a number from 0 to 999999")
        number = 0
        try:
            for line in collect(dt.timedelta(hours=hours), dry_run=dry_run):
                self.stdout.write(line)
                number += 1
        except StoreUnreachable as error:
            raise CommandError(f"{error}; {number} removed before that") from error
        self.stdout.write(f"{number} {'would be removed' if dry_run else 'removed'}")
