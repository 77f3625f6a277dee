"""Replay a history of observations and candidate forwards under several pricing policies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from admission.estimator import (
    MAX_DOCUMENT_SIZE,
    PRESETS,
    InputError,
    PolicyError,
    format_table,
    parse_policies,
    read_json,
    replay,
)

BAD_INPUT = 1
BAD_POLICY = 2


class Command(BaseCommand):
    help = "Price the candidates of a replay file under one or more policies. Needs no database."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="replay file (JSON); '-' reads standard input")
        parser.add_argument(
            "--policies",
            default="base",
            help="comma-separated names, default base. Shipped: " + ", ".join(p.name for p in PRESETS),
        )
        parser.add_argument("--format", choices=("table", "json"), default="table", help="default table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            policies = parse_policies(options["policies"])
        except PolicyError as error:
            raise CommandError(str(error), returncode=BAD_POLICY) from error
        name = "standard input" if options["file"] == "-" else options["file"]
        try:
            result = replay(read_json(self._read(options["file"])), policies)
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror or error}", returncode=BAD_INPUT) from error
        except InputError as error:
            lines = "\n".join(f"  {problem}" for problem in error.problems)
            text = f"{name} cannot be replayed:\n{lines}"
            raise CommandError(text, returncode=BAD_INPUT) from error
        self.stdout.write(
            json.dumps(result, indent=2) if options["format"] == "json" else format_table(result)
        )

    @staticmethod
    def _read(file: str) -> bytes:
        most = MAX_DOCUMENT_SIZE + 1
        if file == "-":
            return sys.stdin.buffer.read(most)
        with Path(file).open("rb") as stream:
            return stream.read(most)
