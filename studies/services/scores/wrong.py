"""Target by target in one scope: what was observed, and what every method said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studies.estimation.cells import cell_state
from studies.estimation.development import PANEL, WORD
from studies.estimation.labels import Resolution
from studies.estimation.methods import Prediction
from studies.estimation.panel import resolved_truths
from studies.estimation.scoring import Truth
from studies.models import Configuration, Study
from studies.services.predictions.recorded import fold_sets, in_method_order, method_prediction, rows_of
from studies.services.scores.development import Development, pool_truths
from studies.services.scores.panel import Panel


@dataclass(frozen=True)
class MethodSide:
    """One method in one scope. ``kind`` is ``development`` for one that was added after the labels."""

    name: str
    kind: str
    predictions: Mapping[str, Prediction]


@dataclass(frozen=True)
class Scope:
    """The panel (``family`` is empty) or one held-out family: its methods, targets and what was observed."""

    family: str
    sides: Sequence[MethodSide]
    configurations: Mapping[str, Configuration]
    truths: Mapping[str, Truth]
    resolutions: Mapping[str, Resolution]

    def wrong(self) -> list[WrongRow]:
        """The targets with a label that at least one method did not call by it, by id."""
        rows = []
        for name in sorted(self.truths):
            given = [side.predictions.get(name) for side in self.sides]
            states = [item.predicted_state if item else None for item in given]
            if all(state is None or state is self.truths[name].label for state in states):
                continue
            resolution = self.resolutions.get(name)
            cells = [
                _cell(state, self.truths[name], resolution) if state is not None else None for state in states
            ]
            rows.append(WrongRow(self.configurations[name], self.truths[name], cells))
        return rows

    def pairs(self, side: MethodSide) -> list[tuple[Prediction, Truth]]:
        """A method's predictions of the targets that have a label."""
        return [
            (side.predictions[name], truth) for name, truth in self.truths.items() if name in side.predictions
        ]


@dataclass(frozen=True)
class Cell:
    """What one method said: its answer, the mark of what that was worth, and whether it was the label."""

    answer: str
    state: str
    right: bool


@dataclass(frozen=True)
class WrongRow:
    """A target that some method got wrong; ``cells`` are in the order of the scope's methods."""

    configuration: Configuration
    truth: Truth
    cells: Sequence[Cell | None]


def _cell(state: str, truth: Truth, resolution: Resolution | None) -> Cell:
    known = resolution or _of_truth(truth)
    return Cell(state, cell_state(state, known), state == truth.label)


def _of_truth(truth: Truth) -> Resolution:
    return Resolution(truth.label, False, False, 0, (), (), truth.completed_peak_mib, None)


def load_scopes(study: Study, panel: Panel | None, developed: Sequence[Development]) -> list[Scope]:
    """The panel's scope, if it is given, and each held-out family's, all methods side by side."""
    scopes = [_panel_scope(panel, developed)] if panel and (panel.prediction_set or developed) else []
    truths = developed[0].truths if developed else pool_truths(study)
    for prediction_set in fold_sets(study):
        rows = rows_of(prediction_set)
        configurations = {row.configuration.configuration_id: row.configuration for row in rows}
        for configuration in configurations.values():
            configuration.pool = study.pool  # read already; their addresses need it
        named: dict[str, dict[str, Prediction]] = {}
        for row in rows:
            named.setdefault(row.method, {})[row.configuration.configuration_id] = method_prediction(row)
        sides = [MethodSide(name, "", named[name]) for name in in_method_order(named)]
        sides += [
            _side(item, item.folds[prediction_set.fold])
            for item in developed
            if prediction_set.fold in item.folds
        ]
        scopes.append(
            Scope(
                prediction_set.fold,
                sides,
                configurations,
                {name: truths[name] for name in configurations if name in truths},
                {},
            )
        )
    return scopes


def _panel_scope(panel: Panel, developed: Sequence[Development]) -> Scope:
    configurations = {row.configuration.configuration_id: row.configuration for row in panel.rows}
    for configuration in configurations.values():
        configuration.study = panel.study  # read already; their addresses need it
    sides = [
        MethodSide(
            method,
            "",
            {
                row.configuration.configuration_id: method_prediction(row.predictions[method])
                for row in panel.rows
                if method in row.predictions
            },
        )
        for method in panel.methods
    ]
    sides += [_side(item, item.panel) for item in developed]
    truths = {truth.configuration_id: truth for truth in resolved_truths(panel.resolutions)}
    return Scope(PANEL, sides, configurations, truths, panel.resolutions)


def _side(item: Development, predictions: Sequence[Prediction]) -> MethodSide:
    return MethodSide(item.method, WORD, {found.configuration_id: found for found in predictions})
