"""Two methods, or two prediction sets, side by side: where they differ comes first."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.http import Http404, HttpRequest, HttpResponse

from rlvram_site.tables.paging import page_of
from studies.estimation.coverage import coverage_curve, point_at
from studies.estimation.labels import Label
from studies.estimation.methods import Method, method_class, method_classes
from studies.figures.methods import Curve, coverage_figure, residuals_figure
from studies.models import PredictionSet, Study
from studies.services.errors import UNREADABLE
from studies.services.predictions.comparison import Choice, choices, compare, load_pairs
from studies.services.scores.development import load_development
from studies.services.scores.method_card import method_card
from studies.services.scores.panel import load_panel
from studies.services.scores.panel_groups import is_large
from studies.services.scores.panel_lines import panel_numbers
from studies.services.scores.wrong import Scope, load_scopes
from studies.text.words import family_words, method_words, sentence, set_words
from studies.views.common import get_study, study_page

PER_PAGE = 100


class CompareForm(forms.Form):
    """Which two sides to compare. Both have a default, so an empty form is a valid one."""

    left = forms.ChoiceField(label="First", required=False)
    right = forms.ChoiceField(label="Second", required=False)

    def __init__(self, data: dict[str, Any], offered: list[Choice]) -> None:
        super().__init__(data)
        groups: dict[str, list[tuple[str, str]]] = {}
        for choice in offered:
            groups.setdefault(_set_of(choice), []).append((choice.key, method_words(choice.method)))
        for name in ("left", "right"):
            field = cast(forms.ChoiceField, self.fields[name])
            field.choices = list(groups.items())
            field.error_messages["invalid_choice"] = (
                f"{field.label} is “%(value)s”, expected a method of this study, its parent or follow-ups"
            )


def methods(request: HttpRequest, slug: str) -> HttpResponse:
    """The comparison page; its two sides come from the address."""
    study = get_study(slug)
    offered = choices(study)
    by_key = {choice.key: choice for choice in offered}
    defaults = dict(zip(("left", "right"), list(by_key)[:2], strict=False))
    form = CompareForm({**defaults, **request.GET.dict()}, offered)
    context: dict[str, Any] = {"form": form, "offered": offered, "is_paged": False}
    if len(offered) >= 2 and form.is_valid():
        left = by_key[form.cleaned_data["left"] or defaults["left"]]
        right = by_key[form.cleaned_data["right"] or defaults["right"]]
        pairs = compare(left, right)
        both = [pair for pair in pairs if pair.shared]
        differing = sum(pair.differs for pair in both)
        page = page_of(request, pairs, PER_PAGE)
        page.object_list = load_pairs(page.object_list)
        context |= {
            "left": left,
            "right": right,
            "left_name": _name(left, right),
            "right_name": _name(right, left),
            "pairs": page,
            "sentence": _sentence(left, right, differing, len(both), len(pairs)),
        }
    scoped, wrong_form = _scoped(request, study)
    response = study_page(request, study, "methods", **context, **scoped)
    response.status_code = 400 if form.errors or wrong_form.errors else 200
    return response


class ScopeForm(forms.Form):
    """Whose targets to look at: the panel's or one held-out family's. They are never put together."""

    scope = forms.ChoiceField(label="Targets", required=False)

    def __init__(self, data: Any, scopes: list[Scope]) -> None:
        super().__init__(data)
        field = cast(forms.ChoiceField, self.fields["scope"])
        field.choices = [(scope_key(scope), scope_words(scope)) for scope in scopes]
        expected = ", ".join(key for key, _ in field.choices)
        field.error_messages["invalid_choice"] = f"scope is “%(value)s”, expected one of: {expected}"


def scope_key(scope: Scope) -> str:
    """How an address names a scope."""
    return scope.family or "panel"


def scope_words(scope: Scope) -> str:
    return f"held-out {family_words(scope.family)}" if scope.family else "the panel"


def _scoped(request: HttpRequest, study: Study) -> tuple[dict[str, Any], ScopeForm]:
    """Wrong targets and risk against coverage of one scope."""
    try:
        numbers = panel_numbers(study)
    except UNREADABLE:
        return {}, ScopeForm({}, [])
    # Curves and wrong targets need every target; those of a large panel are in its file.
    panel = None if is_large(numbers) else load_panel(study)
    scopes = load_scopes(study, panel, load_development(study, panel.resolutions if panel else None))
    form = ScopeForm(request.GET, scopes)
    sides = (side.name for scope in scopes for side in scope.sides)
    names = list(dict.fromkeys([*numbers.methods, *sides]))
    too_many = 0 if panel else numbers.planned
    if not scopes or not form.is_valid():
        return {"scope_form": form, "too_many": too_many, "method_names": names}, form
    by_key = {scope_key(scope): scope for scope in scopes}
    chosen = by_key[form.cleaned_data["scope"]] if form.cleaned_data["scope"] else scopes[0]
    wrong = chosen.wrong()
    usable = sum(truth.label is Label.WITHIN_MARGIN for truth in chosen.truths.values())
    return {
        "scope_form": form,
        "too_many": too_many,
        "scope": chosen,
        "scope_key": scope_key(chosen),
        "scope_name": scope_words(chosen),
        "wrong": page_of(request, wrong, PER_PAGE, "wrong"),
        "wrong_total": len(wrong),
        "usable": usable,
        "coverage": _coverage(chosen, numbers.margin_mib, usable),
        "method_names": names,
    }, form


def _coverage(scope: Scope, margin_mib: float, usable: int) -> Any:
    """Risk against coverage; None where nothing has a label, so that there is nothing to risk."""
    if not scope.truths:
        return None
    known = {method.name: method.colour for method in method_classes()}
    curves = [
        Curve(
            method_words(side.name) + (f", {side.kind}" if side.kind else ""),
            known.get(side.name, Method.colour),
            coverage_curve(scope.pairs(side)),
            point_at(scope.pairs(side), margin_mib),
        )
        for side in scope.sides
    ]
    return coverage_figure(curves, usable=usable)


def method(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One method: its claim, its formula with the study's numbers, what it learned, and its limits."""
    study = get_study(slug)
    if name not in {item.name for item in method_classes()}:
        raise Http404(f"No method is called {name}.")
    found = method_class(name)
    try:
        context = method_card(study, found)
    except UNREADABLE as error:
        context = {"problem": str(error)}
    if figure := context.get("residuals"):
        context["residuals"] = residuals_figure(figure, found.about().residual_title)
    return study_page(request, study, "method", name=name, about=found.about(), **context)


def _name(choice: Choice, other: Choice) -> str:
    """The method, with its set where the two sides have different ones."""
    name = sentence(method_words(choice.method))
    if choice.prediction_set.pk == other.prediction_set.pk:
        return name
    return f"{name} ({_set_of(choice)})"


def _set_of(choice: Choice) -> str:
    found = choice.prediction_set
    development = found.kind == PredictionSet.Kind.DEVELOPMENT
    return set_words(found.fold, found.study.title, development=development)


def _sentence(left: Choice, right: Choice, differing: int, both: int, either: int) -> str:
    second = _name(right, left)
    names = f"{_name(left, right)} and {second[:1].lower()}{second[1:]}"
    if not both:
        return f"{names} have no target in common, so there is nothing to compare."
    alone = either - both
    more = f"; {alone} only one of them predicts" if alone else ""
    if not differing:
        return f"{names} predict the same label for all {both} targets that they share{more}."
    return f"{names} predict different labels for {differing} of the {both} targets that they share{more}."
