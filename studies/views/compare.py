"""Two to four studies, prediction sets, configurations or attempts side by side; the address says which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from studies.figures.memory import memory_figure
from studies.models import Attempt, Configuration, PredictionSet, Study
from studies.services.outcomes.memory_timeline import memory_timeline
from studies.text.comparing import FEWEST, KINDS, MOST, Side, UnknownItem, rows, sides
from studies.text.words import counted, sentence, set_words

PER_PAGE = 100
OFFERED = 200
"""Keys that a field suggests; any other can be typed."""
NOUNS = {
    "study": ("study", "studies"),
    "set": ("prediction set", "prediction sets"),
    "configuration": ("configuration", "configurations"),
    "attempt": ("attempt", "attempts"),
}


def compare(request: HttpRequest) -> HttpResponse:
    """``?kind=study&item=a&item=b``; without items, the form that leads there."""
    kind = request.GET.get("kind", KINDS[0])
    keys = list(dict.fromkeys(key.strip() for key in request.GET.getlist("item") if key.strip()))
    problem = _problem(kind, keys)
    found: list[Side] = []
    if not problem and len(keys) >= FEWEST:
        try:
            found = sides(kind, keys)
        except UnknownItem as error:
            problem = str(error)
    kind = kind if kind in KINDS else KINDS[0]
    context: dict[str, Any] = {
        "kind": kind,
        "kinds": [(name, sentence(NOUNS[name][1])) for name in KINDS],
        "fields": [*keys, *[""] * MOST][:MOST],
        "offered": _offered(kind),
        "problem": problem,
        "sides": found,
        "sentence": "Choose two to four of one kind to set side by side.",
    }
    if found:
        every = rows(found)
        differing = sum(row.differs for row in every)
        kept = urlencode([("kind", kind), *(("item", key) for key in keys)])
        context |= {
            "page_of_rows": Paginator(every, PER_PAGE).get_page(request.GET.get("page")),
            "kept": f"{kept}&",
            "sentence": f"{sentence(counted(len(found), *NOUNS[kind]))} differ in {differing} of "
            f"{len(every)} values; those come first.",
            **(_memory(found) if kind == "attempt" else {}),
        }
    return render(request, "studies/compare.html", context, status=400 if problem else 200)


def _problem(kind: str, keys: Sequence[str]) -> str:
    if kind not in KINDS:
        return f"kind is “{kind[:60]}”, expected one of: {', '.join(KINDS)}."
    if any("\0" in key for key in keys):
        return "A name holds a character that no name has."
    if len(keys) > MOST:
        return f"There are {len(keys)} to compare, expected two to four different ones."
    return ""


def _offered(kind: str) -> list[tuple[str, str]]:
    """Keys with their words, as many as a field suggests."""
    if kind == "study":
        return list(Study.objects.order_by("pk").values_list("slug", "title")[:OFFERED])
    if kind == "set":
        sets = PredictionSet.objects.select_related("study").order_by("study", "pk")[:OFFERED]
        return [
            (
                f"{item.study.slug}/{item.pk}",
                set_words(
                    item.fold, item.study.title, development=item.kind == PredictionSet.Kind.DEVELOPMENT
                ),
            )
            for item in sets
        ]
    found: Iterable[tuple[str, str, str]]
    if kind == "configuration":
        planned = Configuration.objects.filter(study__isnull=False).order_by("study", "configuration_id")
        found = planned.values_list("study__slug", "configuration_id", "workload_name")[:OFFERED]
    else:
        attempts = Attempt.objects.order_by("study", "pk")
        found = attempts.values_list("study__slug", "invocation_id", "outcome")[:OFFERED]
    return [(f"{owner}/{name}", words.replace("_", " ")) for owner, name, words in found]


def _memory(found: Sequence[Side]) -> dict[str, Any]:
    """Memory over time of every attempt on one axis, each from its own first sample."""
    devices: dict[str, Sequence[tuple[float, float]]] = {}
    without = []
    for side in found:
        memory = memory_timeline(side.attempt) if side.attempt else None
        if memory is None:
            without.append(side.title)
            continue
        devices |= {f"{side.title}, {name}": points for name, points in memory.devices.items()}
    limits = next((side.configuration for side in found if side.configuration), None)
    if not devices or limits is None:
        return {"without_samples": without}
    figure = memory_figure(
        devices, (), margin_mib=limits.margin_limit_mib, capacity_mib=limits.device_capacity_mib
    )
    return {"memory_figure": figure, "without_samples": without}
