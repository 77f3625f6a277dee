"""Methods that were added when the labels were public already, fitted and scored for comparison.

Such a method is *development*: what it says of these labels is no blind prediction, and it is never part of a
sealed set. A protocol that names the method makes it one of the study's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from studies.estimation.errors import EstimationError
from studies.estimation.folds import leave_family_out
from studies.estimation.labels import Label
from studies.estimation.methods import Method, Prediction
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.rules import ProtocolRules
from studies.estimation.scoring import Truth, answers, case_of
from studies.estimation.study import FittedStudy, fit

WORD = "development"
"""Stands beside everything that such a method says."""

PANEL = ""
"""Scope of the panel, in place of a held-out family."""


def is_development(method: type[Method], rules: ProtocolRules) -> bool:
    """Whether the method can run as development here: it has a value for it, and the protocol names none."""
    named = rules.fitting is not None and method.name in rules.fitting.methods
    return method.development_value is not None and not named


def development_rules(rules: ProtocolRules, method: type[Method]) -> ProtocolRules:
    """The study's rules as if its protocol asked for this one method, with the value of its development.

    Raises:
        EstimationError: a method that the protocol names, or that was there before the labels were.
    """
    fitting = rules.require_fitting()
    if not is_development(method, rules):
        raise EstimationError(
            f"protocol {rules.protocol_version}",
            "method",
            method.name,
            "a method in development that the protocol does not name",
        )
    parameters = method.read_rule({method.protocol_key: method.development_value}, method.name)
    return replace(rules, fitting=replace(fitting, methods={method.name: parameters}))


@dataclass(frozen=True)
class Developed:
    """One fit of a method in development.

    Attributes:
        scope: the held-out family, or `PANEL` for the fit on the whole pool.
        fitted: the fit.
        predictions: of the held-out family and of its configurations outside the fit, or of the panel.
        refused: targets that the method could not predict, with the reason.
    """

    scope: str
    fitted: FittedStudy
    predictions: tuple[Prediction, ...]
    refused: Mapping[str, str]


def develop(
    pool: Pool,
    rules: ProtocolRules,
    method: type[Method],
    targets: Sequence[Target],
    elsewhere: Iterable[PoolConfiguration] = (),
) -> Iterator[Developed]:
    """Fit a method in development for each held-out family and for the panel, and predict.

    Args:
        pool: the study's fitting pool.
        rules: the study's.
        targets: the panel's.
        elsewhere: configurations outside the fit; each is predicted by the fit without its family.

    Raises:
        EstimationError: whatever the method refuses of the pool. A single target that it can't predict is
            listed as refused.
    """
    own = development_rules(rules, method)
    outside = [item for item in elsewhere if item.configuration_id not in pool]
    for fold in leave_family_out(pool):
        others = [item for item in outside if item.family == fold.family]
        yield _developed(
            fold.family, fit(fold.fitting, own), [item.as_target() for item in (*fold.test, *others)]
        )
    yield _developed(PANEL, fit(pool, own), targets)


def _developed(scope: str, fitted: FittedStudy, targets: Sequence[Target]) -> Developed:
    predictions: list[Prediction] = []
    refused = {}
    for target in targets:
        try:
            predictions += fitted.predict([target])
        except EstimationError as error:
            refused[target.configuration_id] = str(error)
    return Developed(scope, fitted, tuple(predictions), refused)


def outside_the_fit(
    configurations: Iterable[PoolConfiguration], pool: Pool, rules: ProtocolRules
) -> list[PoolConfiguration]:
    """The measured configurations that nothing was fitted on but that the rules can be checked on.

    They are of a family of the pool and were measured under the protocol's limits.
    """
    families, fitted = set(pool.families), set(pool.by_id)
    limits = (rules.device_capacity_mib, rules.memory_margin_limit_mib)
    return [
        item
        for item in configurations
        if item.configuration_id not in fitted
        and item.family in families
        and (item.settings.device_capacity_mib, item.settings.margin_limit_mib) == limits
    ]


def summary(
    predictions: Iterable[Prediction], truths: Mapping[str, Truth], *, undecided_as_rejected: bool = False
) -> dict[str, Any]:
    """Counts of one method in one scope. A target without a truth is unscored, never right or wrong.

    `approved` is all approvals: those by observed label and the unscored ones.

    With `undecided_as_rejected`, undecided usable targets count as rejected, and the result says so.
    """
    found = list(predictions)
    cases = [
        case_of(item, truths[item.configuration_id]) for item in found if item.configuration_id in truths
    ]
    given = answers(cases)
    approved, rejected, undecided = given["approved"], given["rejected"], given["undecided"]
    within = Label.WITHIN_MARGIN.value
    unscored = [item for item in found if item.configuration_id not in truths]
    unscored_approved = sum(item.approves for item in unscored)
    counts = {
        "approved": sum(approved.values()) + unscored_approved,
        "approved_above_margin": approved[Label.ABOVE_MARGIN.value],
        "approved_memory_failure": approved[Label.MEMORY_FAILURE.value],
        "approved_within_margin": approved[within],
        "correct_three_state": sum(case.predicted_state is case.truth.label for case in cases),
        "rejected_within_margin": rejected[within],
        "targets": len(cases),
        "undecided_other": sum(undecided.values()) - undecided[within],
        "undecided_within_margin": undecided[within],
        "unscored": len(unscored),
        "unscored_approved": unscored_approved,
        "unscored_undecided": sum(item.undecided for item in unscored),
    }
    if undecided_as_rejected:
        counts["rejected_within_margin"] += counts["undecided_within_margin"]
        return {**counts, "undecided_counts_as": "rejected"}
    return counts
