"""Record the study that a folder describes, and freeze its protocol."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from studies.services.plan import creating


class Command(BaseCommand):
    help = (
        "Records the study that a folder describes and freezes its protocol now. All or nothing; after this "
        "the plan changes by amendment only. Try `check_study` first."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="the folder; `new_study` writes an example")

    def handle(self, *args, **options) -> None:
        try:
            study = creating.create(options["folder"])
        except creating.FolderRefused as refusal:
            for problem in refusal.problems:
                self.stderr.write(str(problem))
            raise CommandError("the folder has problems; nothing was recorded") from None
        protocol = study.protocols.get()
        self.stdout.write(
            f"study {study.slug} is recorded; its protocol {protocol.version} was frozen at "
            f"{protocol.frozen_at:%Y-%m-%d %H:%M:%S} UTC with sha256 {protocol.sha256}\n"
            f"page: {study.get_absolute_url()}"
        )
