"""Write what a predictor is given in the transfer suite."""

from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from studies.estimation.errors import EstimationError
from studies.services.errors import ServiceError
from studies.services.transfer.submissions import load_suite, the_pool
from studies.transfer.inputs import inputs_document, task_document
from studies.transfer.suite import SELECTIONS


class Command(BaseCommand):
    help = (
        "Writes the inputs of one track of the transfer suite (or of one task, or all) as JSON: permitted "
        "donors with their measurements, the targets' settings, query ids; no outcome of a target."
    )

    def add_arguments(self, parser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--track", choices=SELECTIONS, help="one track, or all")
        what.add_argument("--task", metavar="ID", help="one task alone")
        parser.add_argument("--output", type=Path, required=True, help="a file that is not there yet")
        parser.add_argument("--pool", metavar="SLUG", help="needed only if several pools have a suite")

    def handle(self, *args, **options) -> None:
        output: Path = options["output"]
        try:
            suite = load_suite(the_pool(options["pool"]))
            document = (
                task_document(suite, options["task"])
                if options["task"]
                else inputs_document(suite, options["track"])
            )
            with output.open("x", encoding="utf-8", newline="\n") as file:
                json.dump(document, file, indent=1, ensure_ascii=False)
                file.write("\n")
        except (ServiceError, EstimationError) as error:
            raise CommandError(str(error)) from None
        except FileExistsError:
            raise CommandError(f"{output}: exists already, expected a file that is not there yet") from None
        except OSError as error:
            raise CommandError(f"{output}: cannot be written ({error.strerror})") from None
        if options["verbosity"] > 0:
            tasks = document["tasks"]
            queries = sum(len(task["targets"]) for task in tasks)
            self.stdout.write(f"{output}: {document['track']}, {len(tasks)} tasks, {queries} queries")
