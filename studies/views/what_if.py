"""Will it fit? A setting that nobody has planned, put to every method. Nothing is recorded."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect

from rlvram_site.csv_download import csv_response
from studies.estimation.volumes import MIB_PER_GIB
from studies.estimation.what_if import BY_TYPE, Answer, Change
from studies.estimation.what_if_grid import Cell
from studies.figures.volumes import Bar, Segment, volumes_figure
from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.plan import study_drafts
from studies.services.questions.asking import Asked, ask, ask_grid
from studies.services.questions.documents import GRID_COLUMNS, grid_rows
from studies.services.questions.folder import study_files
from studies.services.questions.reading import models_of
from studies.text.sentences import feature_words
from studies.text.settings import NAMES
from studies.text.words import count_word, family_words, listed, method_words, sentence
from studies.views.common import get_study, study_page
from studies.views.study_drafts import NOT_ALLOWED, may_begin
from studies.views.what_if_form import QuestionForm, initial


@dataclass(frozen=True)
class AnswerView:
    """One method's answer as the page shows it."""

    answer: Answer
    name: str
    changes: str
    held_out: str


@dataclass(frozen=True)
class HeatCell:
    """One cell of a heat map: the mark of what was predicted, GiB, and whether the pool reaches so far."""

    state: str
    gib: float | None
    outside: int | None
    refused: str


@dataclass(frozen=True)
class HeatMap:
    """One method's table: a row of cells for each model and GPU count."""

    name: str
    rows: list[tuple[str, int, list[HeatCell]]]


def what_if(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The form, and the answers once it was sent. A POST is for a pasted file; it records nothing either."""
    study = get_study(slug)
    try:
        models = models_of(study)
    except UNREADABLE as error:
        return study_page(request, study, "what-if", sentence=f"Nothing can be asked here: {error}.")
    sent = request.POST if request.method == "POST" else request.GET
    if not sent:
        return study_page(
            request, study, "what-if", form=QuestionForm(study, models, initial=initial(study)),
            may_begin=may_begin(request.user),
            sentence="Give a model and its settings: every method answers, and nothing is recorded.",
        )  # fmt: skip
    form = QuestionForm(study, models, sent, request.FILES)
    context: dict[str, Any] = {
        "form": form,
        "may_begin": may_begin(request.user),
        "sentence": "Some fields need another value.",
    }
    if form.is_valid():
        try:
            answer = _answer(request.user, study, form, _kind(request))
        except UNREADABLE as error:
            form.add_error(None, f"{sentence(str(error))}.")
        else:
            if isinstance(answer, HttpResponseBase):
                return answer
            context |= answer
    status = 422 if form.errors else 200
    return study_page(request, study, "what-if", status=status, **context)


def _kind(request: HttpRequest) -> str:
    """What the answer is wanted as. Only a form that was sent makes a draft: an address never does."""
    kind = (request.POST or request.GET).get("as", "")
    return "" if kind == "draft" and request.method != "POST" else kind


def encoded(files: dict[str, str]) -> dict[str, bytes]:
    """Texts as the bytes of files."""
    return {path: text.encode() for path, text in files.items()}


def _answer(user: Any, study: Study, form: QuestionForm, kind: str) -> HttpResponseBase | dict[str, Any]:
    question = form.question
    if kind == "draft":
        if not may_begin(user):
            raise PermissionDenied(NOT_ALLOWED)
        return redirect(study_drafts.begin(user, encoded(study_files(study, question))))
    if kind == "folder":
        return _zip(f"{study.slug}-question", study_files(study, question))
    if kind not in ("table", "csv"):
        return _shown(ask(study, question))
    varied = form.grid(question)
    _, cells = ask_grid(study, question, varied)
    if kind == "csv":
        return csv_response("predictions", GRID_COLUMNS, grid_rows(cells))
    maps = _heat_maps(cells)
    refused = sum(bool(cell.refused) for cell in cells)
    said = f"{len(cells):,} settings: {len(varied.models)} models, {len(varied.gpu_counts)} GPU counts"
    tail = f"; {refused:,} of them can't exist" if refused else ""
    return {
        "maps": maps,
        "shares": varied.reservations,
        "sentence": f"{said} and {len(varied.reservations)} shares of device memory{tail}.",
    }


def _zip(name: str, files: dict[str, str]) -> HttpResponse:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(f"{name}/{path}", text)
    return HttpResponse(
        out.getvalue(),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}.zip"'},
    )


def _heat_maps(cells: Sequence[Cell]) -> list[HeatMap]:
    """One for each method, in the order of the first cell that any answered."""
    names = next((tuple(said.method for said in cell.said) for cell in cells if cell.said), ())
    maps = []
    for place, name in enumerate(names):
        rows: dict[tuple[str, int], list[HeatCell]] = {}
        for cell in cells:
            rows.setdefault((cell.model_id, cell.gpu_count), []).append(_heat_cell(cell, place))
        maps.append(HeatMap(method_words(name), [(*key, found) for key, found in rows.items()]))
    return maps


def _heat_cell(cell: Cell, place: int) -> HeatCell:
    if cell.refused:
        return HeatCell("", None, None, cell.refused)
    said = cell.said[place]
    if said.prediction is None:
        return HeatCell("", None, cell.outside, said.refused)
    state = "undecided_unscored" if said.prediction.undecided else said.prediction.predicted_state.value
    peak = said.prediction.predicted_peak_mib
    return HeatCell(state, None if peak is None else peak / MIB_PER_GIB, cell.outside, "")


def _shown(asked: Asked) -> dict[str, Any]:
    settings = asked.target.settings
    elements = asked.target.architecture.floating_checkpoint_elements
    bar = Bar("All volumes", [Segment(feature_words(item.name), item.gib) for item in asked.volumes])
    return {
        "asked": asked,
        "sentence": _sentence(asked),
        "answers": [_view(item, asked.held_out) for item in asked.answers],
        "figure": volumes_figure(
            [bar],
            margin_gib=settings.margin_limit_mib / MIB_PER_GIB,
            capacity_gib=settings.device_capacity_mib / MIB_PER_GIB,
        ),
        "reaches": [(feature_words(item.feature), item) for item in asked.support.reaches],
        "by_type": [(size.name, size.weights_gib(elements)) for size in BY_TYPE],
        "offloads": [(item, listed(list(map(method_words, item.approving)))) for item in asked.offloads],
        "family": family_words(asked.target.architecture.family),
    }


def _view(item: Answer, held_out: dict[str, dict[str, Any]]) -> AnswerView:
    scored = [
        f"{family_words(family)} {scores[item.method]['approved_within_margin']} of "
        f"{scores[item.method]['approved']}"
        for family, scores in held_out.items()
        if item.method in scores
    ]
    return AnswerView(
        item, method_words(item.method), "; ".join(map(_change, item.changes)), ", ".join(scored)
    )


def _change(item: Change) -> str:
    name = NAMES.get(item.field, item.field.replace("_", " "))
    if not name[1].isupper():
        name = name[0].lower() + name[1:]
    if isinstance(item.after, bool):
        return f"{name} on"
    return f"{name} {item.after:,} instead of {item.before:,}"


def _sentence(asked: Asked) -> str:
    answered = [item for item in asked.answers if item.prediction is not None]
    approving = [
        method_words(item.method) for item in answered if item.prediction and item.prediction.approves
    ]
    outside = sum(not reach.inside for reach in asked.support.reaches)
    if approving:
        head = f"{listed(approving)} {'approves' if len(approving) == 1 else 'approve'} this setting"
    else:
        head = f"none of {count_word(len(answered))} methods approves this setting"
    tail = (
        f"{count_word(outside)} of its volumes outside what the pool measured"
        if outside
        else "all of its volumes lie within what the pool measured"
    )
    return sentence(f"{head}; {tail}.")
