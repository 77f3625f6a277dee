"""Load the real studies and issues that are bundled with the project."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import BaseCommand

DEVELOPMENT = "record_development"
SAMPLES = (("studies/samples", "import_study"), ("admission/samples", "import_record"))


class Command(BaseCommand):
    help = "Imports every bundled sample. Safe to run again: what is there already stays as it is."

    def handle(self, *args, **options) -> None:
        known = get_commands()
        for folder, importer in SAMPLES:
            for path in sorted((Path(settings.BASE_DIR) / folder).glob("*.json")):
                if importer in known:
                    call_command(
                        importer,
                        str(path),
                        verbosity=options["verbosity"],
                        stdout=self.stdout,
                        stderr=self.stderr,
                    )
        if DEVELOPMENT in known:
            call_command(DEVELOPMENT, verbosity=options["verbosity"], stdout=self.stdout, stderr=self.stderr)
