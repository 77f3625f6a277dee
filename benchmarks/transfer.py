"""Time lists and comparisons of the transfer suite with ten and with ten thousand submissions.

    python -m benchmarks.transfer [--submissions N] [--runs N]

Everything happens in a temporary SQLite database with the bundled samples. For each page it prints the best
time with ten and with N submissions, their ratio (the goal is 1), and the number of database queries.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TRACK = "model_transfer"
FEW = 10


def _grow(number: int) -> None:
    """Let there be ``number`` submissions, copies of the reference under other names."""
    from django.db import models

    from studies.models import Pool, TransferPredictions, TransferScore, TransferSubmission
    from studies.services.transfer.submissions import load_suite, submit
    from studies.transfer.predictors import reference

    pool = Pool.objects.get()
    predictions = reference(load_suite(pool), TRACK)
    first, _ = submit(
        pool, TRACK, predictions, name="first", version="1", declaration="none", author="benchmark"
    )
    have = TransferSubmission.objects.count()
    rows = [
        TransferSubmission(
            pool=pool, selected_track=TRACK, name=f"predictor {n}", version="1", declaration="none",
            author="benchmark",
            content_sha256=hashlib.sha256(str(n).encode()).hexdigest(),
        )
        for n in range(have, number)
    ]  # fmt: skip
    # Straight into the tables: writing the chain is not what is timed.
    models.QuerySet(TransferSubmission).bulk_create(rows, batch_size=500)
    labels = first.predictions.labels
    models.QuerySet(TransferPredictions).bulk_create(
        [TransferPredictions(submission=row, labels=labels) for row in rows], batch_size=500
    )
    copied = [
        field.attname
        for field in TransferScore._meta.concrete_fields
        if field.attname not in ("id", "submission_id")
    ]
    models.QuerySet(TransferScore).bulk_create(
        [
            TransferScore(submission=row, **{name: getattr(score, name) for name in copied})
            for row in rows
            for score in first.scores.all()
        ],
        batch_size=500,
    )


def _pages() -> dict[str, str]:
    from studies.models import TransferSubmission

    keys = list(TransferSubmission.objects.order_by("pk").values_list("content_sha256", flat=True)[:3])
    chosen = "&".join(f"with={key}" for key in keys)
    home = "/transfer/rlvrambench/"
    return {
        "list": f"{home}submissions/?track={TRACK}",
        "filtered list": f"{home}submissions/?track={TRACK}&q=predictor",
        "last page of the list": f"{home}submissions/?track={TRACK}&page=100000",
        "comparison of three": f"{home}compare/?{chosen}",
        "queries of three": f"{home}queries/?{chosen}",
        "one submission": f"{home}submissions/{keys[0]}/",
    }


def _times(runs: int) -> dict[str, tuple[float, int]]:
    """Best seconds and number of database queries by page."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost"})
    found = {}
    for name, path in _pages().items():
        client.get(path)  # the suite itself is read once
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(path)
        asked = len(queries)  # the next request forgets them
        if answer.status_code != 200:
            sys.exit(f"{path} answered {answer.status_code}")
        seconds = []
        for _ in range(runs):
            start = time.perf_counter()
            client.get(path)
            seconds.append(time.perf_counter() - start)
        found[name] = (min(seconds), asked)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Time the transfer suite's pages with few and many submissions."
    )
    parser.add_argument("--submissions", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "DATA_DIR": folder,
            "DATABASE_URL": f"sqlite:///{Path(folder) / 'benchmark.sqlite3'}",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
        }
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        settings.DEBUG = False  # which would keep every query's text

        call_command("migrate", verbosity=0)
        call_command("load_samples", verbosity=0)
        _grow(FEW)
        few = _times(options.runs)
        _grow(options.submissions)
        many = _times(options.runs)
    print(f"{'page':<24}{f'{FEW}':>12}{f'{options.submissions:,}':>12}{'ratio':>8}{'queries':>10}")
    for name, (before, asked) in few.items():
        after, asked_then = many[name]
        same = str(asked) if asked == asked_then else f"{asked}→{asked_then}"
        print(f"{name:<24}{before * 1000:>9.1f} ms{after * 1000:>9.1f} ms{after / before:>8.2f}{same:>10}")


if __name__ == "__main__":
    main()
