"""The transfer suite: what it is, its inputs, the reference, and the registry's methods beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from studies.estimation.errors import EstimationError
from studies.figures.transfer import PredictorBar, transfer_figure
from studies.models import Pool, TransferSubmission
from studies.models.transfer import TRACK_WORDS
from studies.services.transfer.results import MethodResult, Side, reference_side, registry_results
from studies.services.transfer.submissions import load_suite, pools_with_suite
from studies.text.words import counted, listed, method_words
from studies.transfer.inputs import inputs_document, task_document
from studies.transfer.suite import ALL_TRACKS, Suite, Track

TRACK_QUESTIONS = {
    Track.MODEL: "Another model, same workload and level. The donor case has one model's six levels.",
    Track.WORKLOAD: "One workload's six levels, carried over to the three other workloads of the same model.",
    Track.GPU_COUNT: "Matched settings with two and four GPUs at levels c2 to c4, both ways.",
    Track.HORIZON: "The same setting run for 100 steps, from its measurement after one step.",
}

NOT_ANSWERED = "does not answer this track"


@dataclass(frozen=True)
class ScoreLine:
    """One predictor's row in a table of one track.

    Attributes:
        scores: None where it was not applicable (``note`` says why) or did not answer the track (no note).
        partial_reference: the reference on just those tasks on which the method above it ran.
    """

    name: str
    address: str
    scores: Mapping[str, Any] | None
    note: str = ""
    partial_reference: bool = False


@dataclass(frozen=True)
class TrackTable:
    """A track with its size and the predictors' rows."""

    track: Track
    words: str
    question: str
    queries: int
    tasks: int
    lines: Sequence[ScoreLine]


def get_suite(slug: str) -> tuple[Pool, Suite]:
    """The pool of the address and its suite; 404 where there is none."""
    pool = get_object_or_404(Pool, slug=slug)
    suite = load_suite(pool)
    if not suite.queries:
        raise Http404(f"The pool {slug} has no transfer suite.")
    return pool, suite


def suite_page(
    request: HttpRequest, pool: Pool, page: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    """Render ``templates/studies/transfer_PAGE.html``."""
    return render(
        request, f"studies/transfer_{page}.html", {"pool": pool, "page": page, **context}, status=status
    )


def index(request: HttpRequest) -> HttpResponse:
    """The suite, if there is one only; otherwise the choice between them, or how to get one."""
    pools = list(pools_with_suite())
    if len(pools) == 1:
        return redirect("transfer-suite", pools[0].slug)
    return render(request, "studies/transfer_index.html", {"pools": pools})


def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """What the suite asks and what copying the matched donor answers."""
    pool, suite = get_suite(slug)
    reference = reference_side(suite)
    tables = track_tables(suite, [reference])
    return suite_page(
        request, pool, "overview",
        sentence=_sentence(tables),
        tables=tables,
        figures=figures(tables),
        overall=reference.document["overall"],
        tasks=len(suite.tasks),
        configurations=len(suite.used_ids),
        submissions=TransferSubmission.objects.filter(pool=pool).count(),
        selections=[*((table.track.value, table.words) for table in tables), (ALL_TRACKS, "all tracks")],
    )  # fmt: skip


def _sentence(tables: Sequence[TrackTable]) -> str:
    parts = [
        f"{line.scores['correct_three_state']} of {line.scores['queries']} queries to {table.words}"
        for table in tables
        for line in table.lines
        if line.scores
    ]
    return f"Copying the matched donor's label is right for {listed(parts)}."


def track_tables(
    suite: Suite, sides: Sequence[Side], addresses: Mapping[str, str] | None = None
) -> list[TrackTable]:
    """Every track that some side answers, with each side's scores there."""
    tables = []
    for track in suite.tracks:
        lines = [
            ScoreLine(
                side.name, (addresses or {}).get(side.key, ""), side.document["per_track"].get(track.value)
            )
            for side in sides
        ]
        if any(line.scores for line, side in zip(lines, sides, strict=True) if side.key) or not any(
            side.key for side in sides
        ):
            tables.append(_table(suite, track, lines))
    return tables


def _table(suite: Suite, track: Track, lines: Sequence[ScoreLine]) -> TrackTable:
    tasks = suite.tasks_of(track)
    return TrackTable(
        track, TRACK_WORDS[track], TRACK_QUESTIONS[track], len(suite.queries_of(track)), len(tasks), lines
    )


def figures(tables: Sequence[TrackTable]) -> list[tuple[TrackTable, go.Figure]]:
    """Each track's figure; lines for the reference on some tasks only are left to the table."""
    return [
        (
            table,
            transfer_figure(
                f"{counted(table.queries, 'query', 'queries')} in {counted(table.tasks, 'task')}",
                "approved to the right, usable but rejected to the left",
                [
                    PredictorBar(line.name, line.scores, "not applicable" if line.note else NOT_ANSWERED)
                    for line in table.lines
                    if not line.partial_reference
                ],
            ),
        )
        for table in tables
    ]


def methods(request: HttpRequest, slug: str) -> HttpResponse:
    """Each method of the registry on each track, beside the reference on the same tasks."""
    pool, suite = get_suite(slug)
    found = registry_results(pool)
    tables = []
    for track in suite.tracks:
        own = [result for result in found.results if result.track is track]
        whole = reference_side(suite, track).document["per_track"][track.value]
        lines = [ScoreLine("reference", "", whole, f"all {counted(len(suite.tasks_of(track)), 'task')}")]
        for result in own:
            lines += _method_lines(result)
        tables.append(_table(suite, track, lines))
    return suite_page(
        request, pool, "methods",
        sentence=_methods_sentence(found.results),
        tables=tables,
        figures=figures(tables),
        study=found.study,
    )  # fmt: skip


def _method_lines(result: MethodResult) -> list[ScoreLine]:
    reasons = "; ".join(f"{counted(number, 'task')}: {reason}" for reason, number in result.reasons)
    name = method_words(result.method) + (f", {result.kind}" if result.kind else "")
    if result.scores is None:
        return [ScoreLine(name, "", None, reasons)]
    note = f"{result.applicable} of {counted(len(result.runs), 'task')}"
    lines = [ScoreLine(name, "", result.scores, f"{note}; not applicable to {reasons}" if reasons else note)]
    if result.applicable < len(result.runs):
        on_these = f"reference on these {result.applicable}"
        lines.append(ScoreLine(on_these, "", result.reference, note, partial_reference=True))
    return lines


def _methods_sentence(results: Sequence[MethodResult]) -> str:
    names = list(dict.fromkeys(result.method for result in results))
    parts = []
    for name in names:
        own = [result for result in results if result.method == name]
        tasks = sum(len(result.runs) for result in own)
        parts.append(f"{method_words(name)} in {sum(result.applicable for result in own)} of {tasks} tasks")
    return (
        f"Fitted inside single tasks, the methods are applicable: {listed(parts)}."
        if parts
        else "No method is known."
    )


def inputs(request: HttpRequest, slug: str, selection: str) -> HttpResponse:
    """The inputs of a track, or of all, as a download."""
    pool, suite = get_suite(slug)
    try:
        document = inputs_document(suite, selection)
    except EstimationError as error:
        raise Http404(str(error)) from error
    return _download(document, f"{pool.slug}-{selection}-inputs.json")


def task_inputs(request: HttpRequest, slug: str, task_id: str) -> HttpResponse:
    """The inputs of one task as a download."""
    pool, suite = get_suite(slug)
    try:
        document = task_document(suite, task_id)
    except EstimationError as error:
        raise Http404(str(error)) from error
    return _download(document, f"{pool.slug}-{task_id}-inputs.json")


def _download(document: Mapping[str, Any], name: str) -> HttpResponse:
    return HttpResponse(
        json.dumps(document, indent=1, ensure_ascii=False),
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
