"""Why each method predicted what it did: the recorded fit applied to one configuration again, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.estimation.methods.component_regression import ComponentRegression, Term
from studies.estimation.methods.donor_copy import DonorCandidate, DonorCopy
from studies.estimation.study import restore
from studies.estimation.volumes import StartupBudget, component_volumes, startup_budget
from studies.models import Configuration, FittedModel, PredictionSet


@dataclass(frozen=True)
class Volume:
    """One component volume, GiB per device, under its protocol name."""

    name: str
    gib: float


@dataclass(frozen=True)
class Volumes:
    """All volumes of a configuration in the effective protocol's order, and its startup check."""

    components: tuple[Volume, ...]
    startup: StartupBudget

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
