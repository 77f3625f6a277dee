"""Ten thousand submissions: pages ask the database as often as with ten, and for as many rows."""

from __future__ import annotations

import hashlib

import pytest
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from studies.models import TransferPredictions, TransferScore, TransferSubmission
from studies.services.transfer.submissions import submit
from studies.transfer.predictors import reference
from tests.transfer.conftest import HOME

TRACK = "horizon_transfer"


@pytest.fixture
def crowd(pool, suite):
    """Let there be so many submissions; returns the first one."""
    first, _ = submit(
        pool, TRACK, reference(suite, TRACK), name="first", version="1", declaration="none", author="anna"
    )
    scores = list(first.scores.all())

    def grow(number: int) -> TransferSubmission:
        have = TransferSubmission.objects.count()
        rows = [
            TransferSubmission(
                pool=pool, selected_track=TRACK, name=f"predictor {n}", version="1", declaration="none",
                author="crowd",
                content_sha256=hashlib.sha256(str(n).encode()).hexdigest(),
            )
            for n in range(have, number)
        ]  # fmt: skip
        # Straight into the tables: the chain is not what is looked at here.
        rows = models.QuerySet(TransferSubmission).bulk_create(rows, batch_size=500)
        labels = first.predictions.labels
        models.QuerySet(TransferPredictions).bulk_create(
            [TransferPredictions(submission=row, labels=labels) for row in rows], batch_size=500
        )
        fields = [
            field.attname
            for field in TransferScore._meta.concrete_fields
            if field.attname not in ("id", "submission_id")
        ]
        models.QuerySet(TransferScore).bulk_create(
            [
                TransferScore(submission=row, **{name: getattr(score, name) for name in fields})
                for row in rows
                for score in scores
            ],
            batch_size=500,
        )
        return first

    return grow


def pages(first: TransferSubmission) -> list[str]:
    key = first.content_sha256
    return [
        f"{HOME}submissions/?track={TRACK}",
        f"{HOME}submissions/?track={TRACK}&q=predictor",
        f"{HOME}submissions/?track={TRACK}&page=400",
        f"{HOME}compare/?with={key}",
        f"{HOME}queries/?with={key}&track={TRACK}",
        f"{HOME}submissions/{key}/",
        HOME,
    ]


def test_lists_and_comparisons_do_not_ask_more_with_ten_thousand_than_with_ten(client, crowd):
    asked = []
    for number in (10, 10_000):
        first = crowd(number)
        found = []
        for path in pages(first):
            client.get(path)
            with CaptureQueriesContext(
                connection,
            ) as queries:
                page = client.get(path)
            assert page.status_code == 200
            found.append(len(queries))
        asked.append(found)
    assert asked[0] == asked[1]
    assert min(asked[1]) > 0
    assert max(asked[1]) < 12
    assert TransferSubmission.objects.count() == 10_000


def test_a_page_of_the_list_holds_25_and_no_predictions(client, crowd):
    crowd(10_000)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(f"{HOME}submissions/?track={TRACK}")
    assert len(page.context["rows"].object_list) == 25
    assert page.context["rows"].paginator.count == 10_000
    assert not any("transferpredictions" in query["sql"] for query in queries)
    assert any("LIMIT 25" in query["sql"] for query in queries)
