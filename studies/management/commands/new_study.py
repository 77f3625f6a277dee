"""Write an example of a study's folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

EXAMPLE = Path(__file__).resolve().parents[2] / "samples" / "new-study"


class Command(BaseCommand):
    help = "Writes a commented example of a study's folder that `check_study` accepts."

    def add_arguments(self, parser) -> None:
        parser.add_argument("folder", type=Path, help="a folder that does not exist yet")

    def handle(self, *args, **options) -> None:
        folder: Path = options["folder"]
        try:
            shutil.copytree(EXAMPLE, folder)
        except FileExistsError:
            raise CommandError(f"{folder} exists; expected a folder that does not exist yet") from None
        except OSError as error:
            raise CommandError(f"{folder}: {error.strerror}; expected a folder that can be written") from None
        self.stdout.write(f"{folder} holds an example; change it and run: manage.py check_study {folder}")
