"""Will it fit? Ask a study's methods about a setting that nobody has planned."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rlvram_site.csv_download import csv_lines
from rlvram_site.strict_json import JsonError, read_json
from studies.services.errors import UNREADABLE
from studies.services.questions.asking import Asked, ask, ask_grid
from studies.services.questions.documents import GRID_COLUMNS, answer_document, grid_document, grid_rows
from studies.services.questions.reading import NAME, read_grid, read_question, study_of
from studies.text.words import label_words, method_words

MAX_BYTES = 4 * 1024 * 1024


class Command(BaseCommand):
    help = (
        "Reads a question (the JSON body of POST /api/v1/predict/) and prints every method's answer. With "
        "“grid” in the file, prints a table over models, GPU counts and reservations. Records nothing."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("file", help="the question as JSON; - for standard input")
        parser.add_argument("--json", action="store_true", help="the whole answer as JSON")

    def handle(self, *args, **options) -> None:
        document = _document(options["file"])
        try:
            study = study_of(document)
            question = read_question(study, document)
            if "grid" not in document:
                asked = ask(study, question)
                answer = answer_document(study, asked)
                self._say(json.dumps(answer, indent=2) if options["json"] else _words(asked))
                return
            settings, cells = ask_grid(study, question, read_grid(study, question, document))
        except UNREADABLE as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self._say(json.dumps(grid_document(study, settings, cells), indent=2))
        else:
            self._say("".join(csv_lines(GRID_COLUMNS, grid_rows(cells))).removesuffix("\r\n"))

    def _say(self, text: str) -> None:
        self.stdout.write(text)


def _document(name: str) -> dict[str, Any]:
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}; expected a file that can be read") from None
    if len(content) > MAX_BYTES:
        raise CommandError(f"{name}: expected at most {MAX_BYTES:,} bytes")
    try:
        document = read_json(content, NAME)
    except JsonError as error:
        raise CommandError(f"{name}: {error}") from None
    if not isinstance(document, dict):
        raise CommandError(f"{name}: expected a JSON object")
    return document


def _words(asked: Asked) -> str:
    """The answer in lines for a terminal."""
    settings = asked.target.settings
    lines = [
        f"{asked.target.architecture.model_id} on {settings.gpu_count} GPUs of "
        f"{settings.device_capacity_mib:,} MiB, margin {settings.margin_limit_mib:,} MiB"
    ]
    for item in asked.answers:
        name = method_words(item.method) + (" (development)" if item.development else "")
        if item.prediction is None:
            lines.append(f"{name}: can't say: {item.refused}")
            continue
        peak = item.prediction.predicted_peak_mib
        lines.append(
            f"{name}: {label_words(item.prediction.predicted_state.value)}"
            + (f", peak {peak:,.0f} MiB" if peak is not None else "")
        )
        lines += [
            f"  would approve with {change.field} {change.after} instead of {change.before}"
            for change in item.changes
        ]
    lines += [
        f"volume {reach.feature}: {reach.gib:.2f} GiB, {'inside' if reach.inside else 'outside'} the "
        f"measured {reach.lowest_gib:.2f} to {reach.highest_gib:.2f}"
        for reach in asked.support.reaches
    ]
    lines += [
        f"nearest measured: {near.configuration.configuration_id}, distance {near.distance:.3f}, "
        f"{label_words(near.configuration.label.value)}"
        for near in asked.support.nearest
    ]
    return "\n".join(lines)
