"""The transfer suite of a pool: what is recorded of it, and what was submitted to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from rlvram_site.ledger.canonical import canonical, digest
from rlvram_site.ledger.chain import head, record_all
from studies.archive import columns
from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label
from studies.models import (
    Configuration,
    Pool,
    TransferPredictions,
    TransferQuery,
    TransferScore,
    TransferSubmission,
    TransferTask,
)
from studies.models.transfer import OVERALL
from studies.services.errors import ServiceError
from studies.transfer.scoring import COUNTS, score_suite
from studies.transfer.suite import Measured, Query, Suite, Track, parse_selection

KEPT_SUITES = 4
LIMITS = {
    name: int(TransferSubmission._meta.get_field(name).max_length or 0)  # type: ignore[union-attr]
    for name in ("name", "version", "declaration", "author")
}
"""Longest texts of a submission, in characters."""


class DifferentSubmission(ServiceError):
    """This name and version is recorded with other content; nothing was changed."""


def has_suite(pool: Pool) -> bool:
    """Whether the pool has a transfer suite."""
    return TransferTask.objects.filter(pool=pool).exists()


def pools_with_suite() -> QuerySet[Pool]:
    """The pools that have one."""
    return Pool.objects.filter(pk__in=TransferTask.objects.values("pool"))


def load_suite(pool: Pool) -> Suite:
    """The pool's tasks, queries and configurations, checked; empty if it has none.

    Read once and kept while nothing is added to the pool: a later call costs one query.
    Raises ``EstimationError`` for a suite that breaks its own rules.
    """
    return _suite(pool.pk, head(pool.stream).sha256)


@lru_cache(maxsize=KEPT_SUITES)
def _suite(pool_pk: int, head_sha256: str) -> Suite:
    rows = TransferQuery.objects.filter(pool=pool_pk).select_related("task")
    names = dict(Configuration.objects.filter(pool=pool_pk).values_list("pk", "configuration_id"))
    queries = [
        Query(
            row.query_id, row.task.task_id, Track(row.task.track), names[row.source_id], names[row.target_id]
        )
        for row in rows
    ]
    used = {row.source_id for row in rows} | {row.target_id for row in rows}
    found = Configuration.objects.filter(pk__in=used).select_related("pool_outcome")
    return Suite.of(queries, [measured(item) for item in found])


def measured(configuration: Configuration) -> Measured:
    """A pool configuration under the column names of its source; a blank is None.

    Raises ``EstimationError`` if no outcome of it is recorded.
    """
    outcome = getattr(configuration, "pool_outcome", None)
    if outcome is None:
        raise EstimationError(configuration.configuration_id, "outcome", None, "a recorded outcome")
    settings = {
        name: _value(configuration, "source_study" if name == "study" else name)
        for name in columns.CONFIGURATIONS
    }
    measurements = {
        name: settings[name] if name == "configuration_id" else _value(outcome, name)
        for name in columns.OUTCOMES
    }
    return Measured(settings, measurements)


def _value(row: Any, name: str) -> Any:
    value = canonical(getattr(row, name))
    return None if value == "" else value


def submit(
    pool: Pool,
    selection: str,
    predictions: Mapping[str, Label],
    *,
    name: str,
    version: str,
    declaration: str,
    author: str,
) -> tuple[TransferSubmission, bool]:
    """Record checked predictions with their scores; returns the submission and whether it is new.

    The same content under the same name and version is the submission that stands already.
    Raises ``ServiceError`` for a text that is missing or too long, ``DifferentSubmission`` if the name and
    version stand with other content.
    """  # fmt: skip
    texts = {"name": name, "version": version, "declaration": declaration, "author": author}
    texts = {field: _text(field, value) for field, value in texts.items()}
    labels = {query: label.value for query, label in predictions.items()}
    identity = {
        "pool": pool.slug, "selected_track": parse_selection(selection), "name": texts["name"],
        "version": texts["version"],
    }  # fmt: skip
    content = digest({**identity, "declaration": texts["declaration"], "predictions": labels})
    standing = _standing(pool, identity, content)
    if standing is not None:
        return standing, False
    row = TransferSubmission(pool=pool, selected_track=selection, content_sha256=content, **texts)
    scores = _scores(row, score_suite(load_suite(pool), predictions, selection))
    try:
        with transaction.atomic():
            record_all([row, TransferPredictions(submission=row, labels=labels), *scores])
    except IntegrityError:
        # Somebody sent the same name and version at the same moment.
        standing = _standing(pool, identity, content)
        if standing is None:
            raise
        return standing, False
    return row, True


def _standing(pool: Pool, identity: Mapping[str, str], content: str) -> TransferSubmission | None:
    found = TransferSubmission.objects.filter(
        pool=pool,
        selected_track=identity["selected_track"],
        name=identity["name"],
        version=identity["version"],
    ).first()
    if found is not None and found.content_sha256 != content:
        raise DifferentSubmission(
            f"{found.name} {found.version} is already recorded for {found.get_selected_track_display()} with "
            "other predictions or another declaration; send it as another version. Nothing was changed."
        )
    return found


def _text(field: str, value: str) -> str:
    text = value.strip()
    if not text:
        raise ServiceError(f"{field} is empty, expected a text of 1 to {LIMITS[field]} characters")
    if len(text) > LIMITS[field]:
        raise ServiceError(f"{field} has {len(text)} characters, expected 1 to {LIMITS[field]}")
    one_line = text if field != "declaration" else text.replace("\r\n", "\n").replace("\n", " ")
    if not one_line.isprintable():
        raise ServiceError(f"{field} has characters that cannot be printed, expected plain text")
    return text.replace("\r\n", "\n")


def _scores(row: TransferSubmission, document: Mapping[str, Any]) -> list[TransferScore]:
    scopes = {OVERALL: document["overall"], **document["per_track"]}
    suite_tasks = document["per_task"]
    tracks = load_suite(row.pool).tasks
    return [
        TransferScore(
            pool=row.pool,
            submission=row,
            scope=scope,
            **{count: scores[count] for count in COUNTS},
            document={
                **scores,
                "per_task": {
                    name: values for name, values in suite_tasks.items() if tracks[name].track.value == scope
                },
            },
        )
        for scope, scores in scopes.items()
    ]


def score_document(submission: TransferSubmission) -> dict[str, Any]:
    """A submission's recorded scores in the shape of ``score_suite``."""
    rows = {row.scope: dict(row.document) for row in submission.scores.all()}
    per_task: dict[str, Any] = {}
    for scores in rows.values():
        per_task |= scores.pop("per_task")
    overall = rows.pop(OVERALL)
    order = [track.value for track in Track if track.value in rows]
    return {
        "selected_track": submission.selected_track,
        "overall": overall,
        "per_track": {track: rows[track] for track in order},
        "per_task": dict(sorted(per_task.items())),
    }


def scores_of_track(pool: Pool, track: str) -> QuerySet[TransferScore]:
    """Every submission's counts in one track, newest first."""
    return (
        TransferScore.objects.filter(pool=pool, scope=track)
        .select_related("submission__pool")
        .defer("document")
    )


def score_keys(pool: Pool, track: str, text: str = "") -> QuerySet[TransferScore, int]:
    """Primary keys of a track's scores, newest first; ``text`` occurs in name, version or author.

    Keys alone are counted and paged from an index, however many submissions there are.
    """
    found = TransferScore.objects.filter(pool=pool, scope=track)
    if text:
        named = Q(name__icontains=text) | Q(version__icontains=text) | Q(author__icontains=text)
        matching = TransferSubmission.objects.filter(named, pool=pool)
        found = TransferScore.objects.filter(scope=track, submission__in=matching)
    return found.order_by("-pk").values_list("pk", flat=True)


def scores_by_key(pool: Pool, track: str, keys: Sequence[int]) -> list[TransferScore]:
    """The scores of these keys, in their order."""
    rows = {row.pk: row for row in scores_of_track(pool, track).filter(pk__in=keys)}
    return [rows[key] for key in keys]


def the_pool(slug: str | None) -> Pool:
    """The pool of this slug, or the only one that has a suite.

    Raises ``ServiceError`` if there is none, or several and none is named.
    """
    pools = {pool.slug: pool for pool in pools_with_suite()}
    if slug is None and len(pools) == 1:
        return next(iter(pools.values()))
    if slug in pools:
        return pools[slug]
    known = ", ".join(pools) or "none is recorded"
    if slug is None and pools:
        raise ServiceError(f"several pools have a transfer suite, name one of: {known}")
    raise ServiceError(f"pool {slug or ''} has no transfer suite, expected one of: {known}")
