"""The transfer suite's results side by side: the reference, the registry's methods, and submissions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rlvram_site.ledger.chain import head
from studies.estimation.cells import cell_state
from studies.estimation.development import WORD, development_rules, is_development
from studies.estimation.errors import EstimationError
from studies.estimation.labels import Label, Resolution
from studies.estimation.methods import Method, method_class, method_classes
from studies.estimation.pool import Pool as FittingPool
from studies.estimation.rules import ProtocolKind, ProtocolRules
from studies.models import Pool, Study, TransferSubmission
from studies.services.errors import ServiceError
from studies.services.plan.pools import architectures, pool_configuration
from studies.services.plan.protocols import rules as rules_of
from studies.services.transfer.submissions import KEPT_SUITES, load_suite
from studies.transfer.predictors import TaskRun, reference, run_on_task
from studies.transfer.scoring import score_suite
from studies.transfer.suite import ALL_TRACKS, Query, Suite, Track

MOST_COMPARED = 4
"""Submissions that are compared with the reference at once."""


@dataclass(frozen=True)
class Side:
    """One predictor in a comparison.

    Attributes:
        name: for a person.
        key: a submission's digest; empty for the reference.
        document: its scores in the shape of ``score_suite``.
        predictions: predicted label by query id; empty where only scores were asked for.
    """

    name: str
    key: str
    document: Mapping[str, Any]
    predictions: Mapping[str, Label]
    submission: TransferSubmission | None = None


def reference_side(suite: Suite, selection: str = ALL_TRACKS) -> Side:
    """The reference with its scores."""
    predictions = reference(suite, selection)
    return Side("reference", "", score_suite(suite, predictions, selection), predictions)


def find_submissions(pool: Pool, keys: Iterable[str], *, predictions: bool) -> list[TransferSubmission]:
    """The submissions of these digests, in their order, each once, with their scores.

    Raises ``ServiceError`` for too many or for one that is not recorded.
    """
    wanted = list(dict.fromkeys(keys))
    for key in wanted:
        if not re.fullmatch("[0-9a-f]{64}", key):
            raise ServiceError(f"submission is {key[:80]!r}, expected a digest of 64 hexadecimal digits")
    if len(wanted) > MOST_COMPARED:
        raise ServiceError(f"{len(wanted)} submissions are chosen, expected at most {MOST_COMPARED}")
    rows = TransferSubmission.objects.filter(pool=pool, content_sha256__in=wanted).select_related("pool")
    rows = rows.select_related("predictions") if predictions else rows.prefetch_related("scores")
    found = {row.content_sha256: row for row in rows}
    for key in wanted:
        if key not in found:
            raise ServiceError(f"submission {key} is not recorded, expected the digest of one that is")
    return [found[key] for key in wanted]


def labels_of(submission: TransferSubmission) -> dict[str, Label]:
    """The recorded predictions by query id."""
    return {query: Label(value) for query, value in submission.predictions.labels.items()}


@dataclass(frozen=True)
class QueryRow:
    """One query with all that is known of it. ``cells`` are (predicted label, key of a mark) by side."""

    query: Query
    donor_label: Label
    observed: Label
    cells: Sequence[tuple[Label | None, str]]


def query_row(suite: Suite, query: Query, sides: Sequence[Side]) -> QueryRow:
    """A query with each side's prediction and what it was worth."""
    observed = suite.configurations[query.target_id].label
    return QueryRow(
        query=query,
        donor_label=suite.configurations[query.source_id].label,
        observed=observed,
        cells=[_cell(side.predictions.get(query.query_id), observed) for side in sides],
    )


def _cell(predicted: Label | None, observed: Label) -> tuple[Label | None, str]:
    return predicted, "" if predicted is None else cell_state(predicted, resolved(observed))


def resolved(label: Label) -> Resolution:
    """A resolution that says the label and nothing else."""
    return Resolution(
        label=label,
        known_memory_failure=label is Label.MEMORY_FAILURE,
        known_margin_exceedance=label is Label.ABOVE_MARGIN,
        completed_processes=0,
        eligible_seeds=(),
        unresolved_seeds=(),
        completed_peak_mib=None,
        maximum_known_completed_peak_mib=None,
    )


def queries_in_state(suite: Suite, queries: Iterable[Query], sides: Sequence[Side], state: str) -> list[str]:
    """Ids of the queries for which some side's prediction is worth ``state``."""
    return [
        query.query_id
        for query in queries
        if any(mark == state for _, mark in query_row(suite, query, sides).cells)
    ]


@dataclass(frozen=True)
class MethodResult:
    """One method of the registry on one track.

    Attributes:
        kind: ``development`` where no protocol of the pool names the method; empty otherwise.
        runs: every task of the track, applicable or not.
        scores: on the applicable tasks; None if there is none.
        reference: the reference's scores on the same tasks.
        reasons: why it was not applicable, with the number of tasks.
    """

    method: str
    track: Track
    runs: Sequence[TaskRun]
    scores: Mapping[str, Any] | None
    reference: Mapping[str, Any] | None
    reasons: Sequence[tuple[str, int]]
    kind: str = ""

    @property
    def applicable(self) -> int:
        """Tasks on which it ran."""
        return sum(run.applicable for run in self.runs)


@dataclass(frozen=True)
class RegistryResults:
    """All methods on all tracks. ``study`` is whose effective protocol set their parameters."""

    study: Study | None
    results: Sequence[MethodResult]


def registry_results(pool: Pool) -> RegistryResults:
    """Each method of the registry, fitted inside each task where it can be. Kept while nothing is added.

    Parameters are those of the pool's first study that fits; a method that its protocol does not name runs as
    development, with the value it was developed with. Without such a study no method is applicable.
    """
    studies = list(pool.studies.order_by("pk"))
    ends = tuple(head(stream).sha256 for stream in (pool.stream, *(study.stream for study in studies)))
    return _registry_results(pool, ends)


@lru_cache(maxsize=KEPT_SUITES)
def _registry_results(pool: Pool, ends: tuple[str, ...]) -> RegistryResults:
    suite = load_suite(pool)
    study, rules = _rules(pool)
    fitting, problem = None, ""
    try:
        fitting = _suite_pool(pool, suite)
    except EstimationError as error:
        problem = str(error)
    results = []
    for method in method_classes():
        own, kind = _rules_for(method, rules)
        for track in suite.tracks:
            tasks = suite.tasks_of(track)
            if fitting is None or own is None:
                reason = problem or "no study of this pool says how to fit it"
                runs = [TaskRun(task, {}, reason) for task in tasks]
            else:
                runs = [run_on_task(method, own, task, fitting) for task in tasks]
            results.append(_result(suite, method.name, track, runs, kind))
    return RegistryResults(study, results)


def _suite_pool(pool: Pool, suite: Suite) -> FittingPool:
    known = architectures(pool)
    rows = pool.configurations.filter(configuration_id__in=suite.used_ids).select_related("pool_outcome")
    return FittingPool.of(pool_configuration(row, known) for row in rows)


def _rules_for(method: type[Method], rules: ProtocolRules | None) -> tuple[ProtocolRules | None, str]:
    """The rules under which a method runs here, None without any, and the word if it is in development."""
    if rules is None:
        return None, ""
    if is_development(method, rules):
        return development_rules(rules, method), WORD
    return (rules if method.name in rules.require_fitting().methods else None), ""


def method_scores(
    pool: Pool, name: str, selection: str, *, undecided_as_rejected: bool = False
) -> dict[str, Any]:
    """Scores of one registry method, fitted in each task of a track or of all, as ``score_suite`` has them.

    ``kind`` is ``development`` or ``study method``; ``not_applicable`` has the number of tasks by reason.
    Raises ``ServiceError`` where no task can be run, ``EstimationError`` for an unknown method or track.
    """
    method, suite = method_class(name), load_suite(pool)
    _, rules = _rules(pool)
    own, kind = _rules_for(method, rules)
    if own is None:
        raise ServiceError(f"no study of the pool {pool.slug} says how to fit {name}")
    fitting = _suite_pool(pool, suite)
    runs = [run_on_task(method, own, task, fitting) for task in suite.tasks_of(selection)]
    reasons = Counter(run.reason for run in runs if not run.applicable)
    ran = [run.task.task_id for run in runs if run.applicable]
    if not ran:
        raise ServiceError(f"{name} is not applicable: " + "; ".join(reasons))
    predictions = {query: label for run in runs for query, label in run.predictions.items()}
    document = score_suite(suite, predictions, selection, ran, undecided_as_rejected=undecided_as_rejected)
    for scope in (document["overall"], *document["per_track"].values(), *document["per_task"].values()):
        scope["unscored_approved"] = 0  # every target of the suite has a label
    return {
        "kind": kind or "study method",
        "method": name,
        "not_applicable": dict(reasons),
        **document,
    }


def _rules(pool: Pool) -> tuple[Study | None, ProtocolRules | None]:
    for study in pool.studies.order_by("pk"):
        try:
            rules = rules_of(study)
        except (ServiceError, EstimationError):
            continue  # a draft without a protocol says nothing about methods
        if rules.kind is ProtocolKind.FITS:
            return study, rules
    return None, None


def _result(suite: Suite, method: str, track: Track, runs: Sequence[TaskRun], kind: str) -> MethodResult:
    ran = [run.task.task_id for run in runs if run.applicable]
    scores = beside = None
    if ran:
        predictions = {query: label for run in runs for query, label in run.predictions.items()}
        scores = score_suite(suite, predictions, track, ran)["per_track"][track.value]
        beside = score_suite(suite, reference(suite, track), track, ran)["per_track"][track.value]
    reasons = Counter(run.reason for run in runs if not run.applicable)
    return MethodResult(method, track, runs, scores, beside, reasons.most_common(), kind)
