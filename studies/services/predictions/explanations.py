"""Why each method predicted what it did: the recorded fit applied to one configuration again."""

from __future__ import annotations

from dataclasses import dataclass

from studies.estimation.methods.component_regression import ComponentRegression, Term
from studies.estimation.methods.donor_copy import DonorCandidate, DonorCopy
from studies.estimation.study import restore
from studies.estimation.volumes import StartupBudget, component_volumes, startup_budget
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


@dataclass(frozen=True)
class Explanation:
    """What a recorded fit says about one configuration.

    Attributes:
        donors: permitted donors, the copied one first; empty where the fit copies none.
        terms: addends of the regression's peak, the intercept first; empty where the fit has no regression.
    """

    donors: tuple[DonorCandidate, ...]
    terms: tuple[Term, ...]

    @property
    def fitted_peak_gib(self) -> float:
        """The regression's peak: the sum of its terms."""
        return sum(term.contribution_gib for term in self.terms)

    @property
    def fitted_peak_mib(self) -> float:
        return sum(term.contribution_mib for term in self.terms)


def fit_behind(prediction_set: PredictionSet) -> FittedModel | None:
    """The fit that made a set; a follow-up's is its parent's."""
    seen: PredictionSet | None = prediction_set
    while seen is not None and seen.fitted_model is None:
        seen = seen.inherits
    return None if seen is None else seen.fitted_model


def explain(model: FittedModel, configuration: Configuration) -> Explanation:
    """Donors and regression terms of a recorded fit for one configuration. Nothing is fitted.

    Raises ``ServiceError`` or ``EstimationError`` where the recorded fit cannot be applied again.
    """
    study = model.study
    rules = protocols.rules(study)
    fitted = restore(model.parameters, fitting_pool(study, rules), rules)
    target = target_of(configuration, architectures(pool_of(study)))
    donors: tuple[DonorCandidate, ...] = ()
    terms: tuple[Term, ...] = ()
    for method in fitted.methods:
        if isinstance(method, DonorCopy):
            donors = tuple(method.candidates(target))
        elif isinstance(method, ComponentRegression):
            terms = tuple(method.terms(target))
    return Explanation(donors, terms)


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
    """The volumes that the effective protocol counts, and the startup check.

    Raises ``ServiceError`` where no protocol or no architecture is recorded for it, and
    ``EstimationError`` for a shape that cannot exist.
    """
    study = fitting_study(configuration)
    if study is None:
        raise ServiceError("no protocol of this pool says which volumes count")
    target = target_of(configuration, architectures(pool_of(study)))
    names = protocols.rules(study).require_fitting().features
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
