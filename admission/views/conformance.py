"""How we know the estimator is right: the peer's published figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from admission import estimator
from admission.estimator.conformance import Figure, Row

EQUAL = {"yes": True, "no": False}


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """The table, by policy or only what differs; what can't be expressed stands below with its reason."""
    table = estimator.conformance_table()
    policy, equal = request.GET.get("policy", ""), request.GET.get("equal", "")
    problem = ""
    if policy and policy not in table.policies:
        problem = "No row has this policy."
    elif equal not in ("", *EQUAL):
        problem = "A row is equal or not: expected yes or no."
    rows = [] if problem else table.chosen(policy, EQUAL.get(equal))
    return render(
        request,
        "admission/conformance.html",
        {
            "table": table,
            "policy": policy,
            "equal": equal,
            "problem": problem,
            "narrowed": bool(policy or equal),
            "groups": by_source(rows),
            "count": len(rows),
        },
        status=400 if problem else 200,
    )


def by_source(rows: list[Row]) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Rows under the file that they come from, each with its inputs and figures in words."""
    groups: dict[str, tuple[Any, list[dict[str, Any]]]] = {}
    for row in rows:
        shown = {
            "row": row,
            "inputs": inputs_words(row.inputs),
            "figure": figure_words(row.figure, row.is_size),
            "ours": figure_words(row.ours, row.is_size),
        }
        groups.setdefault(row.source.key, (row.source, []))[1].append(shown)
    return list(groups.values())


def figure_words(value: Figure, is_size: bool) -> str:
    """A figure as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    number = f"{value:,}" if isinstance(value, int) or value.is_integer() else f"{value:,.4f}"
    return f"{number.removesuffix('.0')} B" if is_size else number


def _forward(values: Mapping[str, int]) -> str:
    packed, logical, output = (values[name] for name in ("packed_tokens", "logical_tokens", "output_bytes"))
    shared = f" for {logical:,} logical" if logical != packed else ""
    return f"{packed:,} packed{shared}, outputs {output:,} B"


def inputs_words(inputs: Mapping[str, Any]) -> list[str]:
    """What went in, one line each: what was seen before in order, what was asked, what was usable."""
    lines = []
    for seen in inputs.get("observations", ()):
        kept = f", {seen['retained_bytes']:,} B kept" if "retained_bytes" in seen else ""
        peak = seen["peak_bytes"] - seen["baseline_bytes"]
        lines.append(f"seen: {_forward(seen)}, peak {peak:,} B above{kept}")
    if "forward" in inputs:
        most = f", up to {inputs['no_sharing_tokens']:,} packed" if "no_sharing_tokens" in inputs else ""
        lines.append(f"asked: {_forward(inputs['forward'])}{most}")
    lines += [f"part: {_forward(part)}" for part in inputs.get("parts", ())]
    lines += [f"part: requires {required:,}, keeps {kept:,}" for required, kept in inputs.get("pairs", ())]
    if "device_bytes" in inputs:
        lines.append(f"obtainable {inputs['obtainable_bytes']:,} B of {inputs['device_bytes']:,} B")
    if "usable_bytes" in inputs:
        lines.append(f"usable {inputs['usable_bytes']:,} B")
    return lines
