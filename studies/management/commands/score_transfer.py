"""Score predictions for the transfer suite, and record them if that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rlvram_site.bounded_files import read_whole
from rlvram_site.ledger.chain import acting
from studies.estimation.errors import EstimationError
from studies.services.errors import ServiceError
from studies.services.transfer.results import method_scores
from studies.services.transfer.submissions import load_suite, submit, the_pool
from studies.transfer.scoring import COUNTS, score_suite
from studies.transfer.submission import SubmissionError, check, parse_rows
from studies.transfer.suite import SELECTIONS

_UNDECIDED = ("undecided_within_margin", "undecided_other")
_TEXTS = ("name", "submission_version", "declaration", "author")


class Command(BaseCommand):
    help = (
        "Scores a CSV or JSON file of query_id,predicted_state and prints the scores by task, by track and "
        'overall: {"overall": …, "per_track": {"TRACK": …}, "per_task": {"TASK": …}}. With --record, records '
        "them as a submission. With --method, scores a method of the registry instead, task by task."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument(
            "file", nargs="?", type=Path, help="CSV or JSON with query_id and predicted_state"
        )
        parser.add_argument(
            "--method", help="in place of a file: a method of the registry, fitted task by task"
        )
        parser.add_argument(
            "--undecided-as-rejected", action="store_true", help="count a method's undecided as rejected"
        )
        parser.add_argument("--track", choices=SELECTIONS, required=True, help="one track, or all")
        parser.add_argument("--format", choices=("json", "table"), default="table")
        parser.add_argument("--pool", metavar="SLUG", help="needed only if several pools have a suite")
        record = parser.add_argument_group("recording")
        record.add_argument("--record", action="store_true", help="record it; needs the four texts below")
        record.add_argument("--name", help="name of the predictor")
        record.add_argument("--submission-version", help="its version")
        record.add_argument("--declaration", help="extra measurements used; “none” if so")
        record.add_argument("--author", help="who sends it")

    def handle(self, *args, **options) -> None:
        if (options["file"] is None) == (options["method"] is None):
            raise CommandError("expected either a file of predictions or --method, not both")
        if options["method"] is not None:
            self._method(options)
        else:
            self._file(options)

    def _method(self, options: dict[str, Any]) -> None:
        if options["record"]:
            raise CommandError(
                "--record records predictions from a file; a method's are computed when asked for"
            )
        try:
            document = method_scores(
                the_pool(options["pool"]), options["method"], options["track"],
                undecided_as_rejected=options["undecided_as_rejected"],
            )  # fmt: skip
        except (ServiceError, EstimationError) as error:
            raise CommandError(str(error)) from None
        self._print(document, options["format"])

    def _file(self, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        absent = [name for name in _TEXTS if options["record"] and not options[name]]
        if absent:
            raise CommandError(f"--record needs --{absent[0].replace('_', '-')}")
        try:
            pool = the_pool(options["pool"])
            suite = load_suite(pool)
            predictions = check(suite, parse_rows(read_whole(path)), options["track"])
            document = score_suite(suite, predictions, options["track"])
            if options["record"]:
                with acting(options["author"]):
                    row, new = submit(
                        pool, options["track"], predictions, name=options["name"],
                        version=options["submission_version"], declaration=options["declaration"],
                        author=options["author"],
                    )  # fmt: skip
                word = "recorded" if new else "recorded before"
                self.stderr.write(f"{word}: {row} {row.content_sha256}")
        except SubmissionError as error:
            lines = "\n".join(f"  {problem}" for problem in error.problems)
            raise CommandError(f"{path}: nothing was scored, these rules are broken:\n{lines}") from None
        except (ServiceError, EstimationError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{path}: cannot be read ({error.strerror})") from None
        self._print(document, options["format"])

    def _print(self, document: dict[str, Any], form: str) -> None:
        if form == "json":
            self.stdout.write(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_table(document)))


def _table(document: dict[str, Any]) -> list[str]:
    """A line for each track, and the totals, which rank nothing."""
    rows = {**document["per_track"], "overall": document["overall"]}
    width = max(map(len, rows))
    return [
        f"{name:<{width}}  " + "  ".join(f"{scores[key]} {key}" for key in (*COUNTS, *_UNDECIDED))
        for name, scores in rows.items()
    ]
