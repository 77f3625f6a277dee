"""A follow-up and its parent side by side: what did running it again change?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse

from studies.estimation.labels import UNRESOLVED
from studies.models import Configuration, ConfigurationProjection
from studies.services.errors import UNREADABLE
from studies.services.scores.beside import Sides, sides
from studies.services.scores.panel_lines import PanelNumbers, counted_approvals, counted_cells, in_panel_order
from studies.text.settings import SettingRow, differences
from studies.text.words import count_word, counted, label_words, listed
from studies.views.common import get_study, study_page

PER_PAGE = 50


def beside(request: HttpRequest, slug: str) -> HttpResponse:
    """Each setting of the follow-up beside the one whose prediction it inherits."""
    study = get_study(slug)
    try:
        found = sides(study)
    except UNREADABLE as error:
        sentence = f"There is nothing to set side by side: {error}."
        return study_page(request, study, "beside", sentence=sentence)
    names = in_panel_order(study).values_list("name", flat=True)
    page = Paginator(names, PER_PAGE).get_page(request.GET.get("page"))
    rows = found.rows(list(page))
    return study_page(
        request,
        study,
        "beside",
        sentence=changes_sentence(_states(found)),
        useful=[_useful(panel) for panel in (found.there, found.here)],
        conclusion=[_conclusion(panel) for panel in (found.there, found.here)],
        rows=[
            (row, _differing(row.here.configuration, row.there.configuration))
            for row in sorted(rows, key=lambda row: not row.changed)
        ],
        page_of_rows=page,
        methods=found.here.methods,
    )


def _differing(here: Configuration, there: Configuration) -> list[SettingRow]:
    """Settings in which the two differ, but for the names that each study gives its own."""
    return [row for row in differences(here, there) if row.column not in ("source_study", "case_id")]


def _states(found: Sides) -> list[tuple[str, str]]:
    """The state there and here of every setting that was run again."""
    projections = ConfigurationProjection.objects.order_by()
    here = dict(projections.filter(study=found.here.study).values_list("name", "state"))
    origins = [found.origins[name] for name in here]
    there = dict(projections.filter(study=found.there.study, name__in=origins).values_list("name", "state"))
    return [(there.get(found.origins[name], UNRESOLVED), state) for name, state in here.items()]


def changes_sentence(states: Iterable[tuple[str, str]]) -> str:
    """What became of the same settings; ``states`` has the state there and here of each."""
    counts = Counter(states)
    total = counts.total()
    if not total:
        return "No setting was run again."
    alike = {there: number for (there, here), number in counts.items() if there == here}
    parts = [f"{count_word(number)} ended alike ({label_words(state)})" for state, number in alike.items()]
    parts += [
        f"{count_word(number)} went from {label_words(there)} to {label_words(here)}"
        for (there, here), number in counts.items()
        if there != here
    ]
    changed = total - sum(alike.values())
    verdict = "no label changed" if not changed else f"{counted(changed, 'label')} changed"
    again = counted(total, "setting")
    return f"With the same sealed predictions {again} ran again: {listed(parts)}; {verdict}."


def _useful(panel: PanelNumbers) -> int:
    """How many approvals of any method turned out useful."""
    return sum(counted_cells(tallies)["useful"] for tallies in panel.tallies.values())


def _conclusion(panel: PanelNumbers) -> dict[str, Any]:
    """One panel's own counts, with its own denominators."""
    labels = [
        f"{number} {label_words(label)}"
        for label, number in panel.labels.items()
        if number and label != UNRESOLVED
    ]
    approvals = {}
    for method, tallies in panel.tallies.items():
        counts = counted_approvals(tallies)
        approvals[method] = {
            "all": counts["full_panel_approved_configurations"],
            "scored": counts["scored_approved_configurations"],
            "unscored": counts["unscored_approved_configurations"],
        }
    return {"panel": panel, "labels": ", ".join(labels) or "none", "approvals": approvals}
