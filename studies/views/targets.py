"""The configurations that a bar, a cell or a count stands for."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from rlvram_site.marks import MARKS
from studies.estimation.development import PANEL
from studies.models import Study
from studies.services.errors import UNREADABLE
from studies.services.scores.answered import Behind, behind_family, behind_panel, scopes_of
from studies.services.scores.panel_lines import panel_numbers
from studies.text.words import count_word, counted, family_words, method_words, sentence
from studies.views.common import get_study, study_page

PER_PAGE = 100
THE_PANEL = "panel"
"""The panel as an address names it, beside the families."""


def targets_address(study: Study, scope: str, method: str, state: str = "") -> str:
    """The page of the configurations of a scope that one method answered for, with one state or any."""
    given = {"scope": scope or THE_PANEL, "method": method, "state": state}
    return f"{reverse('targets', args=[study.slug])}?{urlencode({k: v for k, v in given.items() if v})}"


class TargetsForm(forms.Form):
    """Which configurations: of which scope, under which method, in which state. A method has to be named."""

    scope = forms.ChoiceField(label="Targets", required=False)
    method = forms.ChoiceField(label="Method", required=False)
    state = forms.ChoiceField(label="What became of them", required=False)

    def __init__(self, data: Any, scopes: dict[str, list[str]]) -> None:
        first = next(iter(scopes), PANEL) or THE_PANEL
        given = {"scope": first, **{key: value for key, value in data.items() if value}}
        methods = scopes.get(PANEL if given["scope"] == THE_PANEL else given["scope"], [])
        super().__init__({"method": methods[0] if methods else "", **given})
        self._choose("scope", [(name or THE_PANEL, scope_words(name)) for name in scopes])
        self._choose("method", [(name, method_words(name)) for name in methods])
        self._choose("state", [("", "any"), *((name, mark.word) for name, mark in MARKS.items())])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = cast(forms.ChoiceField, self.fields[name])
        field.choices = choices
        expected = ", ".join(key for key, _ in choices if key) or "nothing yet"
        field.error_messages["invalid_choice"] = f"{name} is “%(value)s”, expected one of: {expected}"


def scope_words(scope: str) -> str:
    """``the panel``, or ``held-out Granite``."""
    return f"held-out {family_words(scope)}" if scope else "the panel"


def targets(request: HttpRequest, slug: str) -> HttpResponse:
    """Every configuration of a scope under one method, or those in one state."""
    study = get_study(slug)
    scopes = scopes_of(study)
    form = TargetsForm(request.GET.dict(), scopes)
    context: dict[str, Any] = {"form": form, "scopes": scopes}
    if scopes and form.is_valid():
        scope = "" if form.cleaned_data["scope"] == THE_PANEL else form.cleaned_data["scope"]
        method, state = form.cleaned_data["method"], form.cleaned_data["state"]
        try:
            found = _behind(study, scope, method, state, request.GET.get("page"))
        except UNREADABLE as error:
            context["sentence"] = f"Nothing can be shown yet: {error}."
        else:
            query = {"scope": scope or THE_PANEL, "method": method, **({"state": state} if state else {})}
            context |= {
                "behind": found,
                "page_of_rows": found.page,
                "kept": f"{urlencode(query)}&",
                "sentence": targets_sentence(
                    scope, method, state, found.page.paginator.count, found.answered
                ),
                "others": [
                    (name, number, targets_address(study, scope, method, name))
                    for name, number in found.states.items()
                ],
                "every": targets_address(study, scope, method),
                "state": state,
            }
    elif not scopes:
        context["sentence"] = "Nothing is predicted yet."
    response = study_page(request, study, "targets", **context)
    response.status_code = 400 if scopes and form.errors else 200
    return response


def _behind(study: Study, scope: str, method: str, state: str, page: str | None) -> Behind:
    if scope:
        return behind_family(study, scope, method, state, page, PER_PAGE)
    return behind_panel(study, panel_numbers(study), method, state, page, PER_PAGE)


def targets_sentence(scope: str, method: str, state: str, number: int, answered: int) -> str:
    """``Component regression: four of 30 configurations of held-out Granite are approved, failed.``"""
    name = sentence(method_words(method))
    where = f"{counted(answered, 'configuration')} of {scope_words(scope)}"
    if not state:
        return f"{name} answered for {where}."
    verb = "is" if number == 1 else "are"
    return f"{name}: {count_word(number)} of {where} {verb} {MARKS[state].word}."
