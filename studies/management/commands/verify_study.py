"""Verify a study: its archive where it has one, else what is recorded of it here."""

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
from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.verification import verify_recorded


class Command(BaseCommand):
    help = (
        "Checks every named hash, rebuilds the effective protocol, and recomputes predictions, scores and "
        "costs; with --refit also fits afresh. Reads no prospective outcome. Exits 0 if it passed, else 1. "
        "Without --archive it checks what is recorded here: chains, protocol, seal, scores, and the fits."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help=f"slug of a study; with --archive {' or '.join(LAYOUTS)}")
        parser.add_argument("--archive", type=Path, help="root folder of the archive")
        parser.add_argument(
            "--output", type=Path, help="report file (JSON) that is not there yet; needed with --archive"
        )
        parser.add_argument("--refit", action="store_true", help="fit afresh and compare again")
        parser.add_argument(
            "--recorded-environment", action="store_true",
            help="refit in an isolated environment with the library versions that the study recorded, where "
                 "everything must agree; built once, needs pip's package index the first time",
        )  # fmt: skip
        parser.add_argument("--format", choices=("line", "json"), default="line", help="what to print")

    def handle(self, *args, **options) -> None:
        if options["archive"] is None:
            self._recorded(options)
            return
        output: Path | None = options["output"]
        if output is None:
            raise CommandError("--output: expected with --archive, a file that is not there yet")
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

    def _recorded(self, options: dict[str, Any]) -> None:
        """Check what is recorded here, one line for each statement."""
        if options["output"] is not None or options["recorded_environment"]:
            raise CommandError("--output and --recorded-environment belong to --archive, expected it too")
        study = Study.objects.select_related("pool", "parent").filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"study {options['slug']!r} is not recorded")
        try:
            statements = list(verify_recorded(study, fresh_fit=options["refit"]))
        except UNREADABLE as error:
            raise CommandError(str(error)) from None
        failed = sum(item.holds is False for item in statements)
        if options["format"] == "json":
            found = [{"holds": item.holds, "text": item.text} for item in statements]
            self.stdout.write(json.dumps({"study": study.slug, "passed": not failed, "statements": found}))
        else:
            for item in statements:
                self.stdout.write(str(item))
            self.stdout.write(f"verify_study {study.slug}: {f'{failed} failed' if failed else 'passed'}")
        if failed:
            sys.exit(1)


def _write(path: Path, document: dict[str, Any]) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(document, file, indent=2, sort_keys=True)
            file.write("\n")
    except OSError as error:
        raise CommandError(f"{path}: cannot be written ({error.strerror})") from None
