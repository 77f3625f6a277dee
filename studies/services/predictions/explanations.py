"""Why each method predicted what it did: the recorded fit applied to one configuration again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.estimation.development import development_rules
from studies.estimation.methods import method_class
from studies.estimation.pool import Pool as FittingPool
from studies.estimation.reasons import Reasons
from studies.estimation.rules import ProtocolRules
from studies.estimation.study import FittedStudy, restore
from studies.estimation.volumes import Architecture, StartupBudget, component_volumes, startup_budget
from studies.models import Configuration, FittedModel, PredictionSet, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.plan.pools import architectures, fitting_pool, pool_of, target_of

RESIDENT, BUDGET = "resident_actor_shards_gib", "generation_budget_gib"
"""The two volumes whose sum the startup check compares with the capacity."""


@dataclass(frozen=True)
class Volume:
    """One component volume, GiB per device, under its protocol name."""

    name: str
    gib: float


@dataclass(frozen=True)
class Volumes:
    """A configuration's volumes in the effective protocol's order, and its startup check.

    ``startup_parts`` are the two volumes that the check adds up; empty where it does not apply.
    """

    components: tuple[Volume, ...]
    startup: StartupBudget
    startup_parts: tuple[Volume, ...]

    @property
    def total_gib(self) -> float:
        """Sum of all volumes. They overlap, so this predicts nothing."""
        return sum(volume.gib for volume in self.components)


def fit_behind(prediction_set: PredictionSet) -> FittedModel | None:
    """The fit that made a set; a follow-up's is its parent's."""
    seen: PredictionSet | None = prediction_set
    while seen is not None and seen.fitted_model is None:
        seen = seen.inherits
    return None if seen is None else seen.fitted_model


class RecordedFits:
    """Recorded fits, ready to be applied again. Nothing is fitted; what several fits share is read once."""

    def __init__(self) -> None:
        self._rules: dict[int, ProtocolRules] = {}
        self._pools: dict[tuple[int, tuple[str, ...]], tuple[FittingPool, dict[str, Architecture]]] = {}

    def restored(self, prediction_set: PredictionSet, method: str) -> FittedStudy | None:
        """The fit behind a set that has ``method``; None where none is recorded.

        Raises ``ServiceError`` or ``EstimationError`` where the recorded fit cannot be applied again.
        """
        model = fit_behind(prediction_set)
        if model is None:
            return None
        rules, pool, _ = self._of(model)
        if prediction_set.kind == PredictionSet.Kind.DEVELOPMENT:
            rules = development_rules(rules, method_class(method))
        return restore(model.parameters, pool, rules)

    def explain(
        self, prediction_set: PredictionSet, methods: Sequence[str], configuration: Configuration
    ) -> dict[str, Reasons]:
        """Each method's own reasons, by its name, from the set's recorded fit; empty without a fit.

        Raises ``ServiceError`` or ``EstimationError`` where the recorded fit cannot be applied again.
        """
        model, fitted = fit_behind(prediction_set), self.restored(prediction_set, methods[0])
        if model is None or fitted is None:
            return {}
        target = target_of(configuration, self._of(model)[2])
        return {method.name: method.explain(target) for method in fitted.methods}

    def _of(self, model: FittedModel) -> tuple[ProtocolRules, FittingPool, dict[str, Architecture]]:
        """What a fit rests on: the protocol as it was then, whatever was amended since."""
        if model.pk not in self._rules:
            self._rules[model.pk] = protocols.rules_behind(model)
        rules, study = self._rules[model.pk], model.study
        key = study.pk, rules.require_fitting().source_configuration_ids
        if key not in self._pools:
            self._pools[key] = fitting_pool(study, rules), architectures(pool_of(study))
        return rules, *self._pools[key]


def fitting_study(configuration: Configuration) -> Study | None:
    """The study whose protocol says which volumes count: its own, its parent's, or the first on its pool."""
    if configuration.study is None:
        candidates = Study.objects.filter(pool=configuration.pool, protocols__isnull=False).order_by("pk")
    else:
        own = configuration.study
        candidates = Study.objects.filter(pk__in=[own.pk, own.parent_id or own.pk], protocols__isnull=False)
    for study in candidates.select_related("pool"):
        if protocols.rules(study).fitting is not None:
            return study
    return None


def volumes_of(configuration: Configuration) -> Volumes:
    """The volumes that the protocol counted when its predictions were sealed, and the startup check.

    Raises ``ServiceError`` where no protocol or no architecture is recorded for it, and
    ``EstimationError`` for a shape that cannot exist.
    """
    study = fitting_study(configuration)
    if study is None:
        raise ServiceError("no protocol of this pool says which volumes count")
    target = target_of(configuration, architectures(pool_of(study)))
    names = protocols.sealed_rules(study).require_fitting().features
    settings, architecture = target.settings, target.architecture
    sizes = component_volumes(settings, architecture, names)
    startup = startup_budget(settings, architecture)
    parts = (RESIDENT, BUDGET) if startup.applicable else ()
    return Volumes(
        tuple(Volume(*pair) for pair in zip(names, sizes, strict=True)),
        startup,
        tuple(
            Volume(*pair)
            for pair in zip(parts, component_volumes(settings, architecture, parts), strict=True)
        ),
    )
