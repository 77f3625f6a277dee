"""Asking a study's methods about a setting that it does not plan. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rlvram_site.ledger.chain import head
from studies.checkpoints.architecture import model_from_config
from studies.estimation.development import development_rules
from studies.estimation.errors import EstimationError
from studies.estimation.methods import Method
from studies.estimation.pool import Target
from studies.estimation.rules import ProtocolRules
from studies.estimation.study import FittedStudy, fit
from studies.estimation.volumes import Architecture, Settings, component_volumes, startup_budget
from studies.estimation.what_if import Answer, Support, answer, support
from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.plan.pools import architectures, fitting_pool, pool_of
from studies.services.predictions.development import methods_in_development
from studies.services.predictions.explanations import Volume

NAME = "the question"
MAX_CONFIG_BYTES = 256 * 1024
OWN_MODEL = "pasted config.json"


@dataclass(frozen=True)
class Asked:
    """A question with all its answers; sizes are GiB and MiB per device."""

    target: Target
    volumes: tuple[Volume, ...]
    answers: tuple[Answer, ...]
    support: Support


def models_of(study: Study) -> dict[str, Architecture]:
    """The models that can be named, by id."""
    return architectures(pool_of(study))


def pasted_model(content: bytes, lora_rank: int, family: str) -> Architecture:
    """A model from the bytes of its ``config.json``.

    Raises ``EstimationError`` for a file that can't be read or a family whose layout is not known.
    """
    if len(content) > MAX_CONFIG_BYTES:
        raise EstimationError("config.json", "size", len(content), f"at most {MAX_CONFIG_BYTES:,} bytes")
    read = model_from_config(content, lora_rank=lora_rank)
    record = read.to_record() | {"model_id": OWN_MODEL, "family": family or read.config.model_type}
    return Architecture.from_metadata(record)


def ask(study: Study, model: Architecture, values: Mapping[str, str]) -> Asked:
    """Every method's answer. ``values`` are settings as texts; limits are the protocol's.

    Raises ``ServiceError`` for a study that fits nothing, ``EstimationError`` for settings that can't exist.
    """
    rules = protocols.rules(study)
    target = Target(_settings(rules, model, values), model)
    startup_budget(target.settings, model)
    fitted, developed = _fits(study.pk, protocols.effective_sha256(study), head(pool_of(study).stream).sha256)
    methods = [(method, False) for method in fitted.methods] + [(method, True) for method in developed]
    features = rules.require_fitting().features
    sizes = component_volumes(target.settings, model, features)
    return Asked(
        target=target,
        volumes=tuple(Volume(*pair) for pair in zip(features, sizes, strict=True)),
        answers=tuple(answer(methods, target)),
        support=support(fitted.pool, features, target),
    )


def _settings(rules: ProtocolRules, model: Architecture, values: Mapping[str, str]) -> Settings:
    if rules.fitting is None:
        raise ServiceError("this study inherits its predictions; ask the study that it follows")
    own = {
        "configuration_id": NAME,
        "study": NAME,
        "model_id": model.model_id,
        "device_capacity_mib": str(rules.device_capacity_mib),
        "margin_limit_mib": str(rules.memory_margin_limit_mib),
    }
    return Settings.from_row({**values, **own})


@lru_cache(maxsize=8)
def _fits(study_pk: int, protocol_sha256: str, pool_sha256: str) -> tuple[FittedStudy, tuple[Method, ...]]:
    """The study's methods and those in development, fitted on its pool as both stand now.

    The digests are part of the key: a fit depends on nothing else.
    """
    study = Study.objects.select_related("pool").get(pk=study_pk)
    rules = protocols.rules(study)
    pool = fitting_pool(study, rules)
    fitted = fit(pool, rules)
    developed: list[Method] = []
    for method in methods_in_development(rules):
        try:
            developed += fit(pool, development_rules(rules, method)).methods
        except EstimationError:
            continue  # this pool has not what the method needs; the study's own methods answer all the same
    return fitted, tuple(developed)
