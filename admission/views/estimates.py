"""Calculator and replay: what policies would have required, without recording anything unless staff asks."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from admission import estimator
from admission.figures.replay import replay_figure
from admission.forms import (
    CalculatorForm,
    ModelConfigForm,
    ReplayForm,
    policy_choices,
    replay_samples,
    shape_values,
)
from admission.models import Witness
from admission.services.recording import record_replay
from admission.views.common import staff_only
from rlvram_site.access import is_staff

DEFAULT_REPLAY_POLICIES = ["independent_maxima", "joint_observation"]


@require_http_methods(["GET", "HEAD", "POST"])
def calculator(request: HttpRequest) -> HttpResponse:
    """One forward under several policies, with the formula, its numbers, and the term that decided.

    Posted is a ``config.json``; the page then shows its model with everything else as it stood.
    """
    shapes = {shape.name: shape for shape in estimator.SHAPES}
    shape = shapes.get(request.GET.get("shape", ""))
    everything = {"policies": [name for name, _ in policy_choices()]}
    config = ModelConfigForm(request.POST, request.FILES) if request.method == "POST" else ModelConfigForm()
    if request.method == "POST" and config.is_valid():
        messages.success(request, config.sentence())
        return redirect(f"{request.path}?{config.query()}")
    typed = QueryDict(config.data.get("carried", "")[:20_000]) if config.is_bound else request.GET
    if "packed_tokens" in typed:
        form = CalculatorForm(typed)
    else:
        shape = shape or estimator.SHAPES[0]
        form = CalculatorForm({**shape_values(shape), **everything})
    prices: tuple[estimator.Price, ...] = ()
    if form.is_valid():
        try:
            prices = form.prices()
        except estimator.InputError as error:
            for problem in error.problems:
                name = problem.field.removeprefix("model.")
                form.add_error(name if name in form.fields else None, str(problem))
        except estimator.PolicyError as error:
            form.add_error(None, str(error))
    return render(
        request,
        "admission/calculator.html",
        {
            "form": form,
            "config": config,
            "carried": carried(form),
            "shapes": estimator.SHAPES,
            "shape": shape,
            "prices": prices,
            "refused": [price for price in prices if price.decision == "refused"],
            "decided_by": estimator.DECIDED_BY,
            "low": min((price.required_bytes for price in prices), default=None),
            "high": max((price.required_bytes for price in prices), default=None),
        },
        status=400 if form.errors or config.errors else 200,
    )


def carried(form: CalculatorForm) -> str:
    """What stands in the calculator, as a query, so that reading a config loses none of it."""
    values = QueryDict(mutable=True)
    for name in form.fields:
        value = form[name].value()
        values.setlist(name, value if isinstance(value, list) else ["" if value is None else str(value)])
    return values.urlencode()


@require_http_methods(["GET", "HEAD", "POST"])
def replay(request: HttpRequest) -> HttpResponse:
    """A history of observations and candidates under several policies side by side."""
    samples = replay_samples()
    witnesses = None
    if is_staff(request.user):
        rows = Witness.objects.select_related("issue").order_by("issue", "id")
        witnesses = [(str(row.pk), f"{row.issue}: {row.title}") for row in rows[:500]]
    results = None
    if request.method == "POST":
        form = ReplayForm(request.POST, request.FILES, witnesses=witnesses)
        if form.is_valid():
            try:
                if form.cleaned_data.get("witness"):
                    return _recorded(request, form)
                results = estimator.replay(form.cleaned_data["parsed"], form.cleaned_data["policies"])
            except estimator.InputError as error:  # a policy asks for a size that the file doesn't give
                for problem in error.problems:
                    form.add_error("document", str(problem))
    else:
        sample = samples.get(request.GET.get("sample", "")) or next(iter(samples.values()), "")
        form = ReplayForm(
            initial={"document": sample, "policies": DEFAULT_REPLAY_POLICIES}, witnesses=witnesses
        )
        if sample:
            results = estimator.replay(estimator.read_json(sample), DEFAULT_REPLAY_POLICIES)
    found = candidates(results) if results else []
    return render(
        request,
        "admission/replay.html",
        {
            "form": form,
            "samples": list(samples),
            "results": results,
            "candidates": found,
            "figure": replay_figure(results) if results and found else None,
        },
        status=400 if form.errors else 200,
    )


@staff_only
def _recorded(request: HttpRequest, form: ReplayForm) -> HttpResponse:
    witness = Witness.objects.select_related("issue").get(pk=int(form.cleaned_data["witness"]))
    policies = form.cleaned_data["policies"]
    title = f"Replay under {', '.join(policies)}"
    row = record_replay(witness, title=title, document=form.cleaned_data["parsed"], policies=policies)
    messages.success(request, f"Recorded beside {witness.title}.")
    return redirect(row.get_absolute_url())


def candidates(results: dict) -> list[list[tuple[str, dict]]]:
    """Per candidate, each policy's name and entry."""
    policies = results["policies"]
    return [list(zip(policies, entries, strict=True)) for entries in zip(*policies.values(), strict=True)]
