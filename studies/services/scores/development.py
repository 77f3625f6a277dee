"""What methods in development say, beside a study's own: scope by scope, and scored for comparison only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studies.estimation.development import PANEL, outside_the_fit, summary
from studies.estimation.labels import Resolution
from studies.estimation.methods import Prediction
from studies.estimation.panel import resolved_truths
from studies.estimation.pool import Pool as FittingPool
from studies.estimation.pool import PoolConfiguration
from studies.estimation.scoring import Truth
from studies.models import PredictionSet, Study
from studies.services.plan import protocols
from studies.services.plan.pools import measured_pool, pool_of
from studies.services.predictions.development import record_development
from studies.services.predictions.recorded import development_sets, method_of, method_predictions
from studies.services.scores.panel import load_panel


@dataclass(frozen=True)
class Miss:
    """A target outside the fit that a method called by another label than the observed one."""

    prediction: Prediction
    configuration: PoolConfiguration


@dataclass(frozen=True)
class Development:
    """What one method in development says, scope by scope.

    Attributes:
        method: its name.
        folds: predictions of each held-out family.
        elsewhere: predictions of each family's configurations outside the fit.
        panel: predictions of the study's targets.
        truths: what was observed, by configuration id: pool configurations and resolved targets.
        measured: the pool's configurations by id.
        outside: measured configurations outside the fit; not each method can predict each of them.
        sets: the recorded set of each scope.
    """

    method: str
    folds: Mapping[str, Sequence[Prediction]]
    elsewhere: Mapping[str, Sequence[Prediction]]
    panel: Sequence[Prediction]
    truths: Mapping[str, Truth]
    measured: Mapping[str, PoolConfiguration]
    outside: frozenset[str]
    sets: Mapping[str, PredictionSet]

    def misses(self) -> list[Miss]:
        """Decided answers outside the fit that were wrong, in the order of their prediction."""
        found = [item for predictions in self.elsewhere.values() for item in predictions]
        return [
            Miss(item, self.measured[item.configuration_id])
            for item in found
            if not item.undecided and item.predicted_state is not self.truths[item.configuration_id].label
        ]


def load_development(study: Study, resolutions: Mapping[str, Resolution] | None = None) -> list[Development]:
    """Every recorded method in development, in method order.

    ``resolutions`` are the panel's; without them nothing of the panel is read, and ``panel`` is empty.
    """
    sets = development_sets(study)
    if not sets:
        return []
    rules = protocols.rules(study)
    fitted = set(rules.require_fitting().source_configuration_ids)
    measured = {item.configuration_id: item for item in measured_pool(pool_of(study))}
    fitted_on = FittingPool.of(measured[name] for name in fitted if name in measured)
    outside = frozenset(
        item.configuration_id for item in outside_the_fit(measured.values(), fitted_on, rules)
    )
    truths = {name: Truth.of_pool(item) for name, item in measured.items()}
    truths |= {truth.configuration_id: truth for truth in resolved_truths(resolutions or {})}
    return [
        _development(
            name,
            [item for item in sets if method_of(item) == name],
            outside,
            truths,
            measured,
            with_panel=resolutions is not None,
        )
        for name in dict.fromkeys(method_of(item) for item in sets)
    ]


def pool_truths(study: Study) -> dict[str, Truth]:
    """What was observed of the pool's labelled configurations, by id; empty for a study without a pool."""
    if study.pool is None:
        return {}
    return {item.configuration_id: Truth.of_pool(item) for item in measured_pool(study.pool)}


def _development(
    name: str,
    sets: Sequence[PredictionSet],
    outside: frozenset[str],
    truths: Mapping[str, Truth],
    measured: Mapping[str, PoolConfiguration],
    *,
    with_panel: bool,
) -> Development:
    by_scope = {item.fold: method_predictions(item) for item in sets if with_panel or item.fold != PANEL}
    families = {scope: found for scope, found in by_scope.items() if scope != PANEL}
    return Development(
        method=name,
        folds={
            family: [item for item in found if item.configuration_id not in outside]
            for family, found in families.items()
        },
        elsewhere={
            family: [item for item in found if item.configuration_id in outside]
            for family, found in families.items()
        },
        panel=by_scope.get(PANEL, []),
        truths=truths,
        measured=measured,
        outside=outside,
        sets={item.fold: item for item in sets},
    )


def development_document(study: Study, name: str, *, undecided_as_rejected: bool = False) -> dict[str, Any]:
    """Record and score one method in development.

    Returns ``{"kind": "development", "method": …, "folds": {FAMILY: counts}, "panel": counts,
    "elsewhere": counts}``; ``elsewhere`` also has ``families``, counts by family and by source study, and
    ``misses``.
    """
    record_development(study, name)
    panel = load_panel(study)
    [found] = [item for item in load_development(study, panel.resolutions) if item.method == name]

    def counts(predictions: Sequence[Prediction]) -> dict[str, Any]:
        return summary(predictions, found.truths, undecided_as_rejected=undecided_as_rejected)

    def by_source(predictions: Sequence[Prediction]) -> dict[str, Any]:
        sources = sorted({found.measured[item.configuration_id].settings.study for item in predictions})
        return {
            source: counts(
                [i for i in predictions if found.measured[i.configuration_id].settings.study == source]
            )
            for source in sources
        }

    outside = [item for predictions in found.elsewhere.values() for item in predictions]
    return {
        "kind": PredictionSet.Kind.DEVELOPMENT.value,
        "method": name,
        "study": study.slug,
        "folds": {family: counts(predictions) for family, predictions in sorted(found.folds.items())},
        "panel": counts(found.panel),
        "elsewhere": {
            **counts(outside),
            "not_applicable": len(found.outside) - len(outside),
            "families": {
                family: {**counts(predictions), "source_studies": by_source(predictions)}
                for family, predictions in sorted(found.elsewhere.items())
            },
            "misses": [_miss(item) for item in found.misses()],
        },
    }


def _miss(miss: Miss) -> dict[str, Any]:
    configuration, interval = miss.configuration, miss.prediction.interval
    return {
        "configuration_id": configuration.configuration_id,
        "family": configuration.family,
        "source_study": configuration.settings.study,
        "workload": configuration.settings.workload_id,
        "observed_state": configuration.label.value,
        "completed_peak_mib": configuration.completed_peak_mib,
        "predicted_state": miss.prediction.predicted_state.value,
        "predicted_peak_lower_mib": interval.low if interval else None,
        "predicted_peak_upper_mib": interval.high if interval else None,
    }
