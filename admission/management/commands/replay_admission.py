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
    with_model_config,
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
        parser.add_argument(
            "--model-config",
            metavar="CONFIG",
            help="a Hugging Face config.json whose sizes are used instead of those of the file's model",
        )
        parser.add_argument("--format", choices=("table", "json"), default="table", help="default table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            policies = parse_policies(options["policies"])
        except PolicyError as error:
            raise CommandError(str(error), returncode=BAD_POLICY) from error
        name = "standard input" if options["file"] == "-" else options["file"]
        document = self._parsed(options["file"], name)
        if config := options["model_config"]:
            document = with_model_config(document, self._parsed(config, config))
        try:
            result = replay(document, policies)
        except InputError as error:
            raise self._refused(name, error) from error
        self.stdout.write(
            json.dumps(result, indent=2) if options["format"] == "json" else format_table(result)
        )

    def _parsed(self, file: str, name: str) -> object:
        try:
            return read_json(self._read(file))
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror or error}", returncode=BAD_INPUT) from error
        except InputError as error:
            raise self._refused(name, error) from error

    @staticmethod
    def _refused(name: str, error: InputError) -> CommandError:
        lines = "\n".join(f"  {problem}" for problem in error.problems)
        return CommandError(f"{name} cannot be replayed:\n{lines}", returncode=BAD_INPUT)

    @staticmethod
    def _read(file: str) -> bytes:
        most = MAX_DOCUMENT_SIZE + 1
        if file == "-":
            return sys.stdin.buffer.read(most)
        with Path(file).open("rb") as stream:
            return stream.read(most)
