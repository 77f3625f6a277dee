"""Write studies as one bundle file."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from studies.archive.bundle import to_bundle, write_bundle
from studies.archive.errors import ArchiveError
from studies.archive.exporting import streams_for


class Command(BaseCommand):
    help = (
        "Writes everything recorded about the named studies, their parents and pools as one JSON bundle "
        "(docs/bundle.md). import_study reads it back."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", nargs="+", help="slug of a study")
        parser.add_argument("--output", type=Path, required=True, help="a file that is not there yet")
        parser.add_argument(
            "--facts-only",
            action="store_true",
            help="leave out sentences of the studies' authors; keep their sha256",
        )

    def handle(self, *args, **options) -> None:
        output: Path = options["output"]
        try:
            if output.exists():
                raise ArchiveError(f"{output}: exists already, expected a file that is not there yet")
            streams = streams_for(options["slug"])
            bundle = to_bundle(streams, facts_only=options["facts_only"])
            write_bundle(bundle, output)
        except ArchiveError as error:
            raise CommandError(str(error)) from None
        if options["verbosity"] > 0:
            count = sum(len(stream.records) for stream in streams)
            names = ", ".join(stream.slug for stream in streams)
            self.stdout.write(f"{output}: {names}; {count} records, content sha256 {bundle['sha256']}")
