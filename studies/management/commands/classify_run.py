"""`manage.py classify_run PATH`: the outcome of one invocation, without a server.

Exit codes: 0 the outcome was derived, whichever it is; 2 the path or an option can't be used.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.evidence.completion import STUDY_STEP_PATTERN, CompletionRule
from studies.evidence.errors import EvidenceError
from studies.evidence.files import read_evidence
from studies.evidence.outcome import derive_outcome
from studies.evidence.report import as_data, as_text


class Command(BaseCommand):
    """Derives an outcome from a log file or a run directory and prints it."""

    help = (
        "Derive the outcome of one invocation from its log file or its run directory. "
        "Exits 0 whenever an outcome was derived, 2 if the path or an option can't be used."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH", help="a log file, or a run directory")
        parser.add_argument(
            "--exit-code", type=int, metavar="N", help="exit code of the invocation; overrides a recorded one"
        )
        parser.add_argument(
            "--steps", type=int, metavar="N", help="last required step; default: what the run itself recorded"
        )
        parser.add_argument(
            "--pattern",
            default=STUDY_STEP_PATTERN,
            metavar="REGEX",
            help="record of a completed step, with a group (?P<step>\\d+); default: the study's trainer",
        )
        parser.add_argument("--job", metavar="JOB", help="read only this job's files of the directory")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        try:
            rule = CompletionRule(options["steps"], options["pattern"])
            evidence = read_evidence(path, rule, exit_code=options["exit_code"], job=options["job"])
        except EvidenceError as error:
            raise CommandError(str(error), returncode=2) from error
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}", returncode=2) from error
        derived = derive_outcome(evidence, rule)
        if options["format"] == "json":
            self.stdout.write(json.dumps(as_data(derived), indent=2, ensure_ascii=False))
        else:
            self.stdout.write(as_text(derived))
