"""Submissions to the transfer suite: send predictions, list them, compare them down to the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect

from rlvram_site.api.keys import Scope
from rlvram_site.api.permissions import scopes_of_person
from rlvram_site.marks import MARKS
from rlvram_site.tables.paging import page_of
from studies.estimation.errors import EstimationError
from studies.models import TransferQuery, TransferSubmission
from studies.models.transfer import SELECTIONS, TRACK_WORDS
from studies.services.errors import ServiceError
from studies.services.transfer.results import (
    MOST_COMPARED,
    Side,
    find_submissions,
    labels_of,
    queries_in_state,
    query_row,
    reference_side,
)
from studies.services.transfer.submissions import (
    LIMITS,
    DifferentSubmission,
    score_document,
    score_keys,
    scores_by_key,
    submit,
)
from studies.text.words import counted, listed, sentence
from studies.transfer.scoring import score_suite
from studies.transfer.submission import MAX_BYTES, SubmissionError, check, parse_rows
from studies.transfer.suite import ALL_TRACKS, Suite, Task, Track
from studies.views.transfer import figures, get_suite, suite_page, track_tables

QUERIES_PER_PAGE = 50
SUBMISSIONS_PER_PAGE = 25
SHOWN_STATES = ("useful", "approved_failed", "approved_above_margin", "rejected_usable", "rejected_rightly")


class SubmitForm(forms.Form):
    """Predictions as a file or as text; name, version and declaration are needed only to record them."""

    selected_track = forms.ChoiceField(label="Track", choices=SELECTIONS)
    file = forms.FileField(label="File, CSV or JSON", required=False, allow_empty_file=True)
    text = forms.CharField(
        label="Or paste it here", required=False, strip=False,
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "placeholder": "query_id,predicted_state"}
        ),
    )  # fmt: skip
    name = forms.CharField(label="Name of the predictor", required=False, max_length=LIMITS["name"])
    version = forms.CharField(label="Version", required=False, max_length=LIMITS["version"])
    declaration = forms.CharField(
        label="Extra measurements used, beside the task's own inputs (“none” if so)", required=False,
        max_length=LIMITS["declaration"], widget=forms.Textarea(attrs={"rows": 3}),
    )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        file, text = values.get("file"), values.get("text", "")
        if bool(file) == bool(text.strip()):
            found = "both" if file else "neither"
            self.add_error("file", f"{found} a file and a text were sent, expected one of them")
        elif file and file.size > MAX_BYTES:
            self.add_error("file", f"{file.size:,} bytes, expected at most {MAX_BYTES:,}")
        return values

    @property
    def content(self) -> bytes:
        """What was sent."""
        file = self.cleaned_data["file"]
        return file.read() if file else self.cleaned_data["text"].encode("utf-8", "surrogatepass")


def may_record(request: HttpRequest) -> bool:
    """Whether the person may add to what is recorded: staff and uploaders."""
    return Scope.EVALUATIONS in scopes_of_person(request.user)


def submit_predictions(request: HttpRequest, slug: str) -> HttpResponse:
    """Score predictions, and record them if that was asked for and is allowed."""
    pool, suite = get_suite(slug)
    allowed = may_record(request)
    form = SubmitForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form, "may_record": allowed, "queries": len(suite.queries)}
    if request.method != "POST":
        return suite_page(request, pool, "submit", **context)
    if "record" in request.POST and not allowed:
        raise PermissionDenied("Recording a submission needs a login as an uploader or as staff.")
    if not form.is_valid():
        return suite_page(request, pool, "submit", status=400, **context)
    selection = form.cleaned_data["selected_track"]
    try:
        predictions = check(suite, parse_rows(form.content), selection)
    except SubmissionError as error:
        return suite_page(request, pool, "submit", status=400, problems=error.problems, **context)
    if "record" not in request.POST:
        document = score_suite(suite, predictions, selection)
        side = Side("these predictions", "unrecorded", document, predictions)
        return suite_page(
            request, pool, "submit", **context, **_results(suite, [_reference(suite, side), side])
        )
    try:
        row, new = submit(
            pool, selection, predictions, author=request.user.get_username(),
            **{name: form.cleaned_data[name] for name in ("name", "version", "declaration")},
        )  # fmt: skip
    except ServiceError as error:
        form.add_error(None, str(error))
        status = 409 if isinstance(error, DifferentSubmission) else 400
        return suite_page(request, pool, "submit", status=status, **context)
    messages.success(
        request, "Recorded." if new else "The same content was recorded before; nothing new was added."
    )
    return redirect(row)


def _reference(suite: Suite, side: Side) -> Side:
    return reference_side(suite, side.document["selected_track"])


@dataclass(frozen=True)
class TaskLine:
    """One task with each side's scores, in the order of the sides; None where a side did not answer it."""

    task: Task
    scores: Sequence[Mapping[str, Any] | None]


def _results(suite: Suite, sides: Sequence[Side]) -> dict[str, Any]:
    """Figure and tables of a comparison; the first side is the reference."""
    addresses = {side.key: side.submission.get_absolute_url() for side in sides if side.submission}
    tables = track_tables(suite, sides, addresses)
    tasks = [
        (
            table,
            [
                TaskLine(task, [side.document["per_task"].get(task.task_id) for side in sides])
                for task in suite.tasks_of(table.track)
            ],
        )
        for table in tables
    ]
    return {
        "tables": tables,
        "task_tables": tasks,
        "sides": sides,
        "figures": figures(tables),
        "with_query": _with_query(sides),
    }


def _with_query(sides: Sequence[Side]) -> str:
    query = QueryDict(mutable=True)
    query.setlist("with", [side.key for side in sides if side.submission])
    return query.urlencode()


def submission(request: HttpRequest, slug: str, digest: str) -> HttpResponse:
    """One recorded submission beside the reference."""
    pool, suite = get_suite(slug)
    found = get_object_or_404(
        TransferSubmission.objects.select_related("pool").prefetch_related("scores"),
        pool=pool,
        content_sha256=digest,
    )
    side = Side(str(found), found.content_sha256, score_document(found), {}, found)
    return suite_page(
        request, pool, "submission",
        submission=found,
        document=side.document,
        sentence=_sentence(side),
        **_results(suite, [_reference(suite, side), side]),
    )  # fmt: skip


def _sentence(side: Side) -> str:
    parts = [
        f"{scores['correct_three_state']} of {scores['queries']} queries to {TRACK_WORDS[Track(track)]}"
        for track, scores in side.document["per_track"].items()
    ]
    return f"{side.name} is right for {listed(parts)}."


def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """The submissions that answer one track, newest first."""
    pool, suite = get_suite(slug)
    tracks = [(track.value, TRACK_WORDS[track]) for track in suite.tracks]
    track = request.GET.get("track") or tracks[0][0]
    if track not in dict(tracks):
        problem = f"track is {track[:80]!r}, expected one of {', '.join(name for name, _ in tracks)}"
        return suite_page(request, pool, "submissions", status=400, problem=problem, tracks=tracks)
    text = request.GET.get("q", "")[:100].replace("\x00", "")
    keys = score_keys(pool, track, text.strip())
    page = page_of(request, keys, SUBMISSIONS_PER_PAGE)
    return suite_page(
        request, pool, "submissions",
        tracks=tracks,
        track=track,
        track_words=dict(tracks)[track],
        q=text,
        rows=page,
        shown=scores_by_key(pool, track, list(page)),
        query=_query(request),
        reference=reference_side(suite, track).document["per_track"][track],
        most=MOST_COMPARED,
    )  # fmt: skip


def _query(request: HttpRequest) -> str:
    """The address's query without its page."""
    kept = request.GET.copy()
    kept.pop("page", None)
    return kept.urlencode()


def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Chosen submissions beside the reference: each track by itself, then each task."""
    pool, suite = get_suite(slug)
    try:
        found = find_submissions(pool, request.GET.getlist("with"), predictions=False)
    except ServiceError as error:
        return suite_page(request, pool, "compare", status=400, problem=str(error))
    sides = [Side(str(row), row.content_sha256, score_document(row), {}, row) for row in found]
    return suite_page(
        request, pool, "compare", most=MOST_COMPARED, chosen=found,
        **_results(suite, [reference_side(suite), *sides]),
    )  # fmt: skip


def queries(request: HttpRequest, slug: str) -> HttpResponse:
    """Every query with donor, target, both labels, and what each chosen submission said."""
    pool, suite = get_suite(slug)
    try:
        chosen = find_submissions(pool, request.GET.getlist("with"), predictions=True)
        wanted = _wanted(suite, request.GET)
    except (ServiceError, EstimationError) as error:
        return suite_page(request, pool, "queries", status=400, problem=str(error))
    sides = [
        reference_side(suite),
        *(Side(str(row), row.content_sha256, {}, labels_of(row), row) for row in chosen),
    ]
    rows = TransferQuery.objects.filter(pool=pool).select_related("task", "source__pool", "target__pool")
    if wanted.narrowed:
        names = queries_in_state(suite, wanted.queries, sides, wanted.state) if wanted.state else wanted.ids
        rows = rows.filter(query_id__in=names)
    page = page_of(request, rows.order_by("task__track", "task__task_id", "query_id"), QUERIES_PER_PAGE)
    return suite_page(
        request, pool, "queries",
        rows=page,
        shown=[(row, query_row(suite, suite.by_id[row.query_id], sides)) for row in page],
        sides=sides,
        wanted=wanted,
        tracks=[(track.value, TRACK_WORDS[track]) for track in suite.tracks],
        states=[(state, MARKS[state].word) for state in SHOWN_STATES],
        query=_query(request),
        sentence=sentence(f"{counted(page.paginator.count, 'query', 'queries')} of {len(suite.queries)}."),
    )  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """What the list of queries was narrowed to."""

    queries: Sequence[Any]
    track: str
    task: str
    state: str

    @property
    def narrowed(self) -> bool:
        return bool(self.track or self.task or self.state)

    @property
    def ids(self) -> list[str]:
        return [query.query_id for query in self.queries]


def _wanted(suite: Suite, query: QueryDict) -> Wanted:
    """Raises ``EstimationError`` for a track, task or state that does not exist."""
    track, task, state = (query.get(name, "") for name in ("track", "task", "state"))
    found = suite.task(task).queries if task else suite.queries_of(track or ALL_TRACKS)
    if state and state not in SHOWN_STATES:
        raise EstimationError("queries", "state", state, "one of " + ", ".join(SHOWN_STATES))
    if task and track:
        found = [item for item in found if item.track == track]
    return Wanted(found, track, task, state)
