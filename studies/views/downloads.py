"""The tables of a study's pages as CSV files: every row that a page cuts off, read and sent in parts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from rlvram_site.csv_download import csv_response
from studies.models import Allocation, Event, Study
from studies.services.history.long import every_item
from studies.services.history.timeline import HistoryItem
from studies.services.scores.pairs import MatchedPair, pair_names, pairs_called
from studies.services.scores.panel_lines import PanelLine, in_panel_order, lines, panel_numbers
from studies.text.tries import what_would_resolve
from studies.views.common import get_study
from studies.views.history import AsOfForm, ground_of, sealed_at_of
from studies.views.unscored import approved_by, missing_seeds

CHUNK = 500
PLACE = ("configuration_id", "workload", "level", "gpu_count")
UNSCORED = (*PLACE, "approved_by", "known_already", "seeds", "missing", "what_would_resolve_it")
PAIRS = (
    "pair_id", "workload", "level", "seed", "first_gpu_count",
    "fewer_gpu_count", "fewer_state", "fewer_reason", "fewer_peak_mib",
    "more_gpu_count", "more_state", "more_reason", "more_peak_mib",
    "peak_difference_mib", "runtime_difference_seconds",
)  # fmt: skip
EVENTS = ("position", "title", "status", "detail", "started_at", "ended_at", "gpu_seconds", "job_id",
          "source_commit")  # fmt: skip
ALLOCATIONS = ("pair_id", "job_id", "gpu_count", "scheduler_state", "started_at", "ended_at",
               "whole_gpu_seconds", "batch_gpu_seconds", "observed_gpu_seconds")  # fmt: skip
HISTORY = ("number", "at", "at_is_stated", "ended_at", "kind", "title", "detail", "known_at", "known", "seal",
           "recorded_by")  # fmt: skip

_Item = TypeVar("_Item")


def unscored_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Every unscored approval, with what is missing and what would resolve it."""
    study = get_study(slug)
    panel = panel_numbers(study)
    waiting = in_panel_order(study).filter(unscored=True).values_list("pk", flat=True)
    return csv_response(
        f"{slug}-unscored", UNSCORED,
        (_unscored(line) for keys in _chunks(_streamed(waiting)) for line in lines(panel, keys)),
    )  # fmt: skip


def _unscored(line: PanelLine) -> list[Any]:
    row, found = line.configuration, line.resolution
    known = (
        "memory failure" if found.known_memory_failure
        else "margin exceedance" if found.known_margin_exceedance else ""
    )  # fmt: skip
    missing = "; ".join(f"{seeds}: {reason}" for seeds, reason in missing_seeds(line))
    return [
        row.configuration_id, row.workload_name, row.configuration_level, row.gpu_count,
        "; ".join(approved_by(line)), known, line.seeds, missing, what_would_resolve(line),
    ]  # fmt: skip


def pairs_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Every matched pair with both sides' states and the differences, more GPUs less fewer."""
    study = get_study(slug)
    panel = panel_numbers(study)
    names = _streamed(pair_names(study))
    return csv_response(
        f"{slug}-pairs", PAIRS,
        (_pair(item) for part in _chunks(names) for item in pairs_called(panel, part)),
    )  # fmt: skip


def _pair(item: MatchedPair) -> list[Any]:
    pair = item.pair
    return [
        pair.first.pair_id, pair.first.dataset, pair.first.configuration_level, pair.first.outcome.seed,
        pair.first.task_gpu_count,
        pair.fewer.task_gpu_count, pair.fewer_state, item.fewer.reason, pair.fewer.outcome.peak_mib,
        pair.more.task_gpu_count, pair.more_state, item.more.reason, pair.more.outcome.peak_mib,
        pair.peak_difference_mib, pair.runtime_difference_seconds,
    ]  # fmt: skip


def events_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Every event around the invocations."""
    study = get_study(slug)
    rows = Event.objects.filter(study=study).values_list(*EVENTS)
    return csv_response(f"{slug}-events", EVENTS, _streamed(rows))


def costs_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Every scheduler allocation with three measures of its span, GPU-seconds."""
    study = get_study(slug)
    rows = Allocation.objects.filter(study=study).values_list(*ALLOCATIONS)
    return csv_response(f"{slug}-allocations", ALLOCATIONS, _streamed(rows))


def history_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Everything recorded, in the ledger's order; with ``as_of``, whether it was known at that moment."""
    study = get_study(slug)
    form = AsOfForm(request.GET)
    if not form.is_valid():
        message = "\n".join(str(text) for texts in form.errors.values() for text in texts)
        return HttpResponse(f"{message}\n", status=400, content_type="text/plain; charset=utf-8")
    return csv_response(f"{slug}-history", HISTORY, _history(study, form.cleaned_data["as_of"]))


def _history(study: Study, as_of: dt.datetime | None) -> Iterator[list[Any]]:
    sealed_at = sealed_at_of(study)
    for item in every_item(study, CHUNK):
        yield _history_row(item, as_of, sealed_at)


def _history_row(item: HistoryItem, as_of: dt.datetime | None, sealed_at: dt.datetime | None) -> list[Any]:
    return [
        item.number, item.at, item.stated, item.ended_at, item.lane, item.title, item.detail, item.known_at,
        as_of is None or item.known_at <= as_of, ground_of(item, sealed_at), item.actor,
    ]  # fmt: skip


def _streamed(rows: QuerySet) -> Iterator[Any]:
    return rows.iterator(chunk_size=CHUNK)


def _chunks(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    pending = iter(items)
    while part := list(islice(pending, CHUNK)):
        yield part
