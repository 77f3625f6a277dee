"""Asking a study's methods about a setting that it does not plan. Nothing is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rlvram_site.ledger.chain import head
from studies.estimation.development import development_rules
from studies.estimation.errors import EstimationError
from studies.estimation.methods import Method
from studies.estimation.pool import Pool, Target
from studies.estimation.rules import ProtocolRules
from studies.estimation.study import FittedStudy, fit
from studies.estimation.volumes import Settings, component_volumes, startup_budget
from studies.estimation.what_if import Answer, Offload, Respondent, Support, answer, offloads, support
from studies.estimation.what_if_grid import Axes, Cell, grid
from studies.models import Study
from studies.services.plan import protocols
from studies.services.plan.pools import fitting_pool, pool_of
from studies.services.predictions.development import methods_in_development
from studies.services.predictions.explanations import Volume
from studies.services.questions.reading import NAME, GridQuestion, Question, own_rules
from studies.services.scores.folds import recorded_folds


@dataclass(frozen=True)
class Asked:
    """A question with all its answers; sizes are GiB and MiB per device.

    Attributes:
        held_out: each held-out family's recorded scores by method; empty while none are recorded.
    """

    target: Target
    volumes: tuple[Volume, ...]
    answers: tuple[Answer, ...]
    support: Support
    offloads: tuple[Offload, ...]
    held_out: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class _Ready:
    """A question's settings and whoever can be asked about them."""

    settings: Settings
    pool: Pool
    features: tuple[str, ...]
    respondents: list[Respondent]


def ask(study: Study, question: Question) -> Asked:
    """Every method's answer.

    Raises ``ServiceError`` for a study that fits nothing, ``EstimationError`` for settings that can't exist.
    """
    ready = _ready(study, question)
    target = Target(ready.settings, question.model)
    startup_budget(target.settings, question.model)
    sizes = component_volumes(target.settings, question.model, ready.features)
    return Asked(
        target=target,
        volumes=tuple(Volume(*pair) for pair in zip(ready.features, sizes, strict=True)),
        answers=tuple(answer(ready.respondents, target)),
        support=support(ready.pool, ready.features, target),
        offloads=tuple(offloads(ready.respondents, target)),
        held_out=recorded_folds(study),
    )


def ask_grid(study: Study, question: Question, varied: GridQuestion) -> tuple[Settings, list[Cell]]:
    """The settings around which the grid lies, and its cells. Raises as ``ask`` does."""
    axes = Axes(varied.models, varied.gpu_counts, varied.reservations)
    ready = _ready(study, question)
    return ready.settings, list(grid(ready.respondents, ready.pool, ready.features, ready.settings, axes))


def _ready(study: Study, question: Question) -> _Ready:
    base = own_rules(study)
    limits = _limits(base, question)
    fitted, developed = _fits(
        study.pk, protocols.effective_sha256(study), head(pool_of(study).stream).sha256, limits
    )
    own_limits = limits == (base.device_capacity_mib, base.memory_margin_limit_mib)
    refusal = (
        ""
        if own_limits
        else f"it learned labels, which hold at {base.memory_margin_limit_mib:,} of "
        f"{base.device_capacity_mib:,} MiB and at no other limits"
    )
    return _Ready(
        settings=_settings(question, limits),
        pool=fitted.pool,
        features=base.require_fitting().features,
        respondents=[
            Respondent(method, development, "" if method.any_limits else refusal)
            for development, methods in ((False, fitted.methods), (True, developed))
            for method in methods
        ],
    )


def _limits(rules: ProtocolRules, question: Question) -> tuple[int, int]:
    capacity = question.capacity_mib or rules.device_capacity_mib
    margin = question.margin_mib or rules.memory_margin_limit_mib
    if margin > capacity:
        raise EstimationError(NAME, "margin_limit_mib", margin, f"at most the device capacity {capacity} MiB")
    return capacity, margin


def _settings(question: Question, limits: tuple[int, int]) -> Settings:
    own = {
        "configuration_id": NAME,
        "study": NAME,
        "model_id": question.model.model_id,
        "device_capacity_mib": str(limits[0]),
        "margin_limit_mib": str(limits[1]),
    }
    return Settings.from_row({**question.values, **own})


@lru_cache(maxsize=8)
def _fits(
    study_pk: int, protocol_sha256: str, pool_sha256: str, limits: tuple[int, int]
) -> tuple[FittedStudy, tuple[Method, ...]]:
    """The study's methods and those in development, fitted on its pool as both stand now.

    ``limits`` are capacity and margin, MiB. The digests are part of the key: a fit depends on nothing else.
    """
    study = Study.objects.select_related("pool").get(pk=study_pk)
    rules = protocols.rules(study)
    pool = fitting_pool(study, rules)
    asked = replace(rules, device_capacity_mib=limits[0], memory_margin_limit_mib=limits[1])
    fitted = fit(pool, asked)
    developed: list[Method] = []
    for method in methods_in_development(rules):
        try:
            developed += fit(pool, development_rules(asked, method)).methods
        except EstimationError:
            continue  # this pool has not what the method needs; the study's own methods answer all the same
    return fitted, tuple(developed)
