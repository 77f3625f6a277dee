"""Say everything that is wrong with a study's folder, and change nothing."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from studies.directory.summary import summary
from studies.services.plan import creating


class Command(BaseCommand):
    help = (
        "Reads a study's folder (study.yaml, protocol.yaml, configurations.csv, models/, pool.csv) and lists "
        "every problem with file, line and value. Changes nothing."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="the folder; `new_study` writes an example")

    def handle(self, *args, **options) -> None:
        directory, problems = creating.check(options["folder"])
        if directory is None:
            for problem in problems:
                self.stdout.write(str(problem))
            number = len(problems)
            raise CommandError(f"{number} problem{'' if number == 1 else 's'}; nothing was changed")
        self.stdout.write("\n".join(summary(directory)))
