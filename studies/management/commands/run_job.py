"""Run a job here, or leave it to a worker."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rlvram_site.ledger.chain import acting
from rlvram_site.strict_json import JsonError, read_json
from studies.jobs.errors import JobRefused
from studies.jobs.kinds import all_kinds, is_done_elsewhere
from studies.jobs.running import run_job
from studies.jobs.starting import start
from studies.models import Job, Study

ACTOR = "command line"


class Command(BaseCommand):
    help = (
        "Runs a job in this process and prints its result, or with --enqueue leaves it to a worker and "
        "prints its number. Exits 1 if the job fails."
    )

    def add_arguments(self, parser) -> None:
        parser.add_argument("kind", help=", ".join(kind.name for kind in all_kinds()))
        parser.add_argument("--study", default="", metavar="SLUG", help="the study that it is about")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", dest="parameters",
            help="a parameter; the value is JSON or else a text. May be given several times",
        )  # fmt: skip
        parser.add_argument("--afresh", action="store_true", help="compute even if an earlier result holds")
        parser.add_argument("--enqueue", action="store_true", help="leave it to a worker")
        parser.add_argument("--format", choices=("line", "json"), default="line", help="what to print")

    def handle(self, *args, **options) -> None:
        elsewhere = {kind.name for kind in all_kinds() if is_done_elsewhere(kind.name)}
        if not options["enqueue"] and options["kind"] in elsewhere:
            raise CommandError(f"{options['kind']} is done by a GPU host, expected --enqueue")
        study = None
        if options["study"]:
            study = Study.objects.filter(slug=options["study"]).first()
            if study is None:
                raise CommandError(f"study {options['study']!r} is not recorded")
        try:
            with acting(ACTOR):
                job = start(
                    options["kind"], study, dict(map(_parameter, options["parameters"])),
                    afresh=options["afresh"], operator=True, hand_over=options["enqueue"],
                )  # fmt: skip
        except JobRefused as error:
            raise CommandError(str(error)) from None
        if options["enqueue"]:
            self.stdout.write(f"job {job.pk} is queued")
            return
        run_job(job.pk)
        job.refresh_from_db()
        result = job.result
        if options["format"] == "json":
            answer: dict[str, Any] = {"job": job.pk, "state": job.state, "error": job.error}
            answer |= {"result": result.as_json() if result else None}
            self.stdout.write(json.dumps(answer, indent=2, sort_keys=True, ensure_ascii=False))
        else:
            found = f" (found in job {job.earlier.pk}, same inputs)" if job.earlier else ""
            text = result.sentence + found if result else job.error or job.get_state_display()
            self.stdout.write(f"job {job.pk}: {job.get_state_display()}: {text}")
        if job.state != Job.State.SUCCEEDED:
            sys.exit(1)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise CommandError(f"--set {text!r}: expected NAME=VALUE")
    try:
        return name, read_json(value)
    except JsonError:
        return name, value
