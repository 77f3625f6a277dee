"""Verify a study's archive: hashes, effective protocol, and everything that can be computed again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from studies.archive.documents import Root
from studies.archive.errors import ArchiveError
from studies.archive.layout import LAYOUTS
from studies.archive.recorded_refit import recorded_refit
from studies.archive.verification import VerificationReport, verify


class Command(BaseCommand):
    help = (
        "Checks every named hash, rebuilds the effective protocol, and recomputes predictions, scores and "
        "costs; with --refit also fits afresh. Reads no prospective outcome. Exits 0 if it passed, else 1."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help=f"study in the archive: {' or '.join(LAYOUTS)}")
        parser.add_argument("--archive", type=Path, required=True, help="root folder of the archive")
        parser.add_argument(
            "--output", type=Path, required=True, help="report file (JSON) that is not there yet"
        )
        parser.add_argument("--refit", action="store_true", help="fit afresh and compare again")
        parser.add_argument(
            "--recorded-environment", action="store_true",
            help="refit in an isolated environment with the library versions that the study recorded, where "
                 "everything must agree; built once, needs pip's package index the first time",
        )  # fmt: skip
        parser.add_argument("--format", choices=("line", "json"), default="line", help="what to print")

    def handle(self, *args, **options) -> None:
        output: Path = options["output"]
        if output.exists():
            raise CommandError(f"{output}: exists already, expected a file that is not there yet")
        layout = LAYOUTS.get(options["slug"])
        if layout is None:
            raise CommandError(f"study {options['slug']!r}, expected one of {', '.join(LAYOUTS)}")
        if not (options["archive"] / "benchmark").is_dir():
            raise CommandError(
                f"{options['archive']}: no folder 'benchmark' in it, expected the root of a study archive"
            )
        root = Root(options["archive"])
        try:
            fresh = None
            if options["recorded_environment"]:
                fresh = recorded_refit(
                    root, layout, data_dir=Path(settings.DATA_DIR), source=Path(settings.BASE_DIR)
                )
        except ArchiveError as error:
            report = VerificationReport(layout.slug, problem=str(error))
        else:
            refits = options["refit"] or options["recorded_environment"]
            report = verify(root, layout, fresh=fresh, refits=refits)
        document = report.to_document()
        _write(output, document)
        self.stdout.write(
            json.dumps(document, indent=2, sort_keys=True) if options["format"] == "json" else report.line()
        )
        if not report.passed:
            sys.exit(1)


def _write(path: Path, document: dict[str, Any]) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(document, file, indent=2, sort_keys=True)
            file.write("\n")
    except OSError as error:
        raise CommandError(f"{path}: cannot be written ({error.strerror})") from None
