"""Read a file that export_record wrote."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from admission.management.commands.import_issue import read_file
from admission.services.exchange import RecordError, import_document, read_document
from admission.thread.reading import ExportError


class Command(BaseCommand):
    help = "Record what FILE (written by export_record) adds: all of it or nothing. Safe to run again."

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)

    def handle(self, *args, **options) -> None:
        path: Path = options["file"]
        try:
            report = import_document(read_document(read_file(path), path.name), path.name)
        except (RecordError, ExportError) as error:
            raise CommandError(str(error)) from None
        if options["verbosity"] == 0:
            return
        added = ", ".join(f"{number} {section}" for section, number in report.added.items())
        self.stdout.write(f"{report.issue}: {f'added {added}' if added else 'nothing new'}")
        if report.present:
            self.stdout.write(f"already there: {report.present.total()}")
