"""Two methods, or two prediction sets, side by side: where they differ comes first."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse

from studies.services.predictions.comparison import Choice, choices, compare, shared
from studies.text.words import method_words, sentence, set_words
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
        both = list(shared(pairs))
        differing = sum(pair.differs for pair in both)
        page = Paginator(pairs, PER_PAGE).get_page(request.GET.get("page"))
        context |= {
            "left": left,
            "right": right,
            "left_name": _name(left, right),
            "right_name": _name(right, left),
            "pairs": page,
            "sentence": _sentence(left, right, differing, len(both), len(pairs)),
        }
    response = study_page(request, study, "methods", **context)
    response.status_code = 400 if form.errors else 200
    return response


def _name(choice: Choice, other: Choice) -> str:
    """The method, with its set where the two sides have different ones."""
    name = sentence(method_words(choice.method))
    if choice.prediction_set.pk == other.prediction_set.pk:
        return name
    return f"{name} ({_set_of(choice)})"


def _set_of(choice: Choice) -> str:
    found = choice.prediction_set
    return set_words(found.fold, found.study.title)


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
