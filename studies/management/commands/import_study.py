"""Bring a study archive or a bundle into the database."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from studies.archive.errors import ArchiveError
from studies.archive.layout import LAYOUTS
from studies.estimation.errors import EstimationError
from studies.services.errors import ServiceError
from studies.services.importing import Report, import_source, read_source

_WORDS = {
    "configuration": "configurations", "outcome": "outcomes", "architecture": "architectures",
    "slot": "slots", "amendment": "amendments", "fitted_model": "fits", "prediction": "predictions",
    "attempt": "attempts", "non_launch": "never launched", "event": "events", "allocation": "allocations",
    "exclusion": "exclusions",
    "transfer_task": "transfer tasks", "transfer_query": "transfer queries",
}  # fmt: skip


class Command(BaseCommand):
    help = (
        "Imports the studies of an archive (its root folder) or of a bundle (a .json file), all or nothing. "
        "Safe to run again; recorded rows are never changed."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("path", type=Path, help="root folder of a study archive, or a bundle file")
        parser.add_argument(
            "--study", default="all", metavar="SLUG",
            help=f"one study only, for an archive {' or '.join(LAYOUTS)}; default: all that are there",
        )  # fmt: skip

    def handle(self, *args, **options) -> None:
        wanted = [] if options["study"] == "all" else [options["study"]]
        try:
            source = read_source(options["path"], wanted)
            # tqdm draws nothing unless it writes to a terminal.
            with tqdm(total=source.size, unit="row", leave=False, disable=None) as bar:
                reports = import_source(source, bar.update)
        except (ArchiveError, EstimationError, ServiceError) as error:
            raise CommandError(str(error)) from None
        if options["verbosity"] > 0:
            for report in reports:
                self.stdout.write(_line(report))


def _line(report: Report) -> str:
    counts = ", ".join(
        f"{report.counts[kind]} {word}" for kind, word in _WORDS.items() if kind in report.counts
    )
    hashes = ", ".join(f"{count} {state}" for state, count in report.hashes.items())
    state = "imported" if report.changed else "no change"
    return f"{report.kind} {report.slug}: {state} ({counts}{'; named files: ' + hashes if hashes else ''})"
