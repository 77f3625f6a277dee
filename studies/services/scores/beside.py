"""A follow-up beside its parent: the same prediction, and what was observed there and here.

The two panels are counted apart: nothing here adds a number of one to a number of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.estimation.labels import UNRESOLVED
from studies.models import Configuration, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.scores.panel_lines import PanelLine, PanelNumbers, lines, panel_numbers


@dataclass(frozen=True)
class Beside:
    """One setting of the follow-up beside the setting whose prediction it inherits."""

    there: PanelLine
    here: PanelLine

    @property
    def methods(self) -> list[tuple[str, str, str, str]]:
        """Method, its one prediction, and its cell there and here."""
        return [
            (method, predicted, self.there.cells.get(method, ""), self.here.cells.get(method, ""))
            for method, predicted in self.here.predicted.items()
        ]

    @property
    def both(self) -> tuple[PanelLine, PanelLine]:
        """There and here."""
        return self.there, self.here

    @property
    def changed(self) -> bool:
        """Whether the label, or its absence, is another one here."""
        return self.there.resolution.state != self.here.resolution.state

    @property
    def first_label(self) -> bool:
        """Whether it has a label here and had none there."""
        return self.changed and self.there.resolution.state == UNRESOLVED


@dataclass(frozen=True)
class Sides:
    """Both panels in numbers, and which setting of the follow-up goes with which of the parent."""

    there: PanelNumbers
    here: PanelNumbers
    origins: dict[str, str]

    def rows(self, names: Sequence[str]) -> list[Beside]:
        """These settings of the follow-up, in their order, in a number of queries that does not grow."""
        here = _lines_called(self.here, names)
        there = _lines_called(self.there, [self.origins[name] for name in names])
        return [Beside(there[self.origins[name]], here[name]) for name in names]


def sides(study: Study) -> Sides:
    """The follow-up and its parent.

    Raises ``ServiceError`` for a study that inherits nothing, and what ``panel_numbers`` raises for either.
    """
    rules = protocols.rules(study)
    if study.parent is None or rules.inheritance is None:
        raise ServiceError(f"study {study.slug} follows no other, so it has no parent to stand beside")
    return Sides(
        panel_numbers(study.parent), panel_numbers(study), dict(rules.inheritance.prediction_origins)
    )


def _lines_called(panel: PanelNumbers, names: Sequence[str]) -> dict[str, PanelLine]:
    found = Configuration.objects.filter(study=panel.study, configuration_id__in=names)
    keys = found.values_list("pk", flat=True)
    return {line.configuration.configuration_id: line for line in lines(panel, keys)}
