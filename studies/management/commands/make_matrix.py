"""Write the configurations that a folder's matrix stands for."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from studies.directory import configurations
from studies.directory.matrix import NAME, read_matrix
from studies.directory.problems import Problems


class Command(BaseCommand):
    help = (
        f"Writes {configurations.NAME} of a study's folder from its {NAME}: every model with every workload, "
        "level and GPU count."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="the study's folder")
        parser.add_argument(
            "--replace", action="store_true", help=f"even if there is a {configurations.NAME}"
        )

    def handle(self, *args, **options) -> None:
        folder: Path = options["folder"]
        problems = Problems()
        text = read_matrix(folder, problems)
        for problem in problems.all:
            self.stderr.write(str(problem))
        if problems:
            raise CommandError("the matrix has problems; nothing was written")
        target = folder / configurations.NAME
        try:
            with target.open("w" if options["replace"] else "x") as file:
                file.write(text)
        except FileExistsError:
            raise CommandError(f"{target} exists; --replace writes over it") from None
        except OSError as error:
            raise CommandError(f"{target}: {error.strerror}; expected a file that can be written") from None
        self.stdout.write(f"{target} has {text.count(chr(10)) - 1:,} configurations")
