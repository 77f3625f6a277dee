"""Make the hashes of stored evidence anew, those longest unchecked first."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from rlvram_site.evidence_storage import StoreUnreachable
from studies.models import StoredFile
from studies.services.outcomes.evidence_checks import check_all, due


class Command(BaseCommand):
    help = "Reads stored evidence and compares its hashes. Exits 1 and names what is damaged or missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--older-than", type=_days, metavar="DAYS",
            help="only files that were not checked for so many days; without it all",
        )  # fmt: skip
        parser.add_argument("--limit", type=_number, metavar="N", help="so many files at most")

    def handle(self, *args: Any, **options: Any) -> None:
        days, limit = options["older_than"], options["limit"]
        older_than = None if days is None else dt.timedelta(days=days)
        waiting = list(due(older_than))
        chosen = waiting[:limit]
        numbers = dict.fromkeys(StoredFile.State.values, 0)
        try:
            with tqdm(
                total=sum(size for _, size in chosen), unit="B", unit_scale=True, desc="evidence",
                file=sys.stderr, disable=None, leave=False,
            ) as bar:  # fmt: skip
                for item in check_all(chosen):
                    numbers[item.state] += 1
                    bar.update(item.size_bytes)
                    if item.state != StoredFile.State.WHOLE:
                        bar.clear()
                        self.stdout.write(f"{item.state.upper():<8}evidence  {item.sha256}")
        except StoreUnreachable as error:
            raise CommandError(str(error)) from error
        damaged, missing = numbers[StoredFile.State.DAMAGED], numbers[StoredFile.State.MISSING]
        said = f"{len(chosen)} files checked"
        if left := len(waiting) - len(chosen):
            said += f", {left} left for the next time"
        if damaged or missing:
            raise CommandError(f"evidence: {said}; {damaged} damaged, {missing} missing")
        self.stdout.write(f"ok      evidence  {said}")


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1
    if not 0 <= days <= 36_500:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no number of days, expected 0 to 36500")
    return days


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no number of files, expected 1 or more")
    return int(text)
