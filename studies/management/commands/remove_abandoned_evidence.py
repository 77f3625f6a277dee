"""Remove files that uploads left behind which never became evidence of a study."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from studies.services.outcomes.evidence_files import remove_unrecorded
from studies.services.outcomes.evidence_store import INCOMING_SECONDS


class Command(BaseCommand):
    help = "Remove files of killed or refused uploads. What any study has recorded stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than-hours", type=float, default=INCOMING_SECONDS / 3600,
            help="leave younger files alone: an upload may be on its way (default %(default)g)",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        number = remove_unrecorded(options["older_than_hours"] * 3600)
        self.stdout.write(f"{number} removed")
